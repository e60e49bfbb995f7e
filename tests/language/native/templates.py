"""Chat templates of the same shape as those of the families, each with what makes it different, and nothing else.

They are written for these tests. Where a family's own template fills a page, this one keeps the roles, the place of the
tools, the way in which a call and a result are written, and the turns.
"""

from __future__ import annotations

QWEN = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}{% if messages[0].role == 'system' %}{{ messages[0].content + '\\n\\n' }}{% endif %}
{{- '<tools>' }}{% for tool in tools %}{{ '\\n' + (tool | tojson) }}{% endfor %}{{ '\\n</tools>' }}
{{- '\\n<tool_call>\\n{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant' }}{% if message.content %}{{ '\\n' + message.content }}{% endif %}
{%- for call in message.tool_calls %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\\n' }}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

LLAMA = """\
{{- bos_token }}
{%- if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}{% set messages = messages[1:] %}
{%- else %}{% set system = '' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday Date: ' + strftime_now('%d %b %Y') + '\\n\\n' + system }}
{{- '<|eot_id|>' }}
{%- if tools %}
{%- set first = messages[0].content | trim %}{% set messages = messages[1:] %}
{{- '<|start_header_id|>user<|end_header_id|>\\n\\nRespond in the format ' }}
{{- '{"name": function name, "parameters": dictionary}.\\n\\n' }}
{%- for tool in tools %}{{ tool | tojson(indent=4) }}{{ '\\n\\n' }}{% endfor %}{{ first + '<|eot_id|>' }}
{%- endif %}
{%- for message in messages %}
{%- if message.tool_calls %}
{%- if message.tool_calls | length != 1 %}{{ raise_exception('one call at a time') }}{% endif %}
{%- set call = message.tool_calls[0].function %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + call.name + '", "parameters": ' }}
{{- call.arguments | tojson }}{{ '}<|eot_id|>' }}
{%- elif message.role == 'tool' %}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + (message.content | tojson) + '<|eot_id|>' }}
{%- else %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""

PYTHONIC = """\
{{- bos_token }}
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set messages = messages[1:] %}
{%- else %}{% set system = '' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' + system }}
{%- if tools %}{{ '\\nCall them as [func_name1(params_name1=params_value1, ...)]\\n' }}{{ tools | tojson }}{% endif %}
{{- '<|eot_id|>' }}
{%- for message in messages %}
{{- '<|start_header_id|>' + ('ipython' if message.role == 'tool' else message.role) + '<|end_header_id|>\\n\\n' }}
{%- for call in message.tool_calls or [] %}
{{- '[' + call.function.name + '(' }}
{%- for name, value in call.function.arguments.items() %}
{{- name + '=' + (value | tojson) }}{% if not loop.last %}{{ ', ' }}{% endif %}
{%- endfor %}{{ ')]' }}
{%- endfor %}
{{- message.content + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""

MISTRAL = """\
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set messages = messages[1:] %}{% endif %}
{%- set users = messages | selectattr('role', 'equalto', 'user') | list %}
{{- bos_token }}
{%- for message in messages %}
{%- if message.role == 'user' %}
{%- if tools and message == users[-1] %}{{ '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}{% endif %}
{{- '[INST]' }}{% if system is defined and loop.last %}{{ system + '\\n\\n' }}{% endif %}{{ message.content + '[/INST]' }}
{%- elif message.tool_calls %}
{{- '[TOOL_CALLS][' }}
{%- for call in message.tool_calls %}
{%- if call.id is not defined or call.id | length != 9 %}{{ raise_exception('ids have nine letters') }}{% endif %}
{{- (call.function | tojson)[:-1] + ', "id": "' + call.id + '"}' }}{% if not loop.last %}{{ ', ' }}{% endif %}
{%- endfor %}
{{- ']' + eos_token }}
{%- elif message.role == 'assistant' %}
{{- message.content + eos_token }}
{%- elif message.role == 'tool' %}
{{- '[TOOL_RESULTS]{"content": ' + message.content + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
{%- else %}{{ raise_exception('no such role') }}
{%- endif %}
{%- endfor %}
"""

GEMMA = """\
{{- bos_token }}
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set messages = messages[1:] %}
{%- else %}{% set system = 'You can call functions.' %}{% endif %}
{%- if tools %}
{{- '<start_of_turn>developer\\n' + system }}
{%- for tool in tools %}
{{- '<start_function_declaration>declaration:' + tool.function.name + '{description:<escape>' }}
{{- tool.function.description + '<escape>}<end_function_declaration>' }}
{%- endfor %}
{{- '<end_of_turn>\\n' }}
{%- endif %}
{%- set ns = namespace(called=false) %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<start_function_response>response:' + message.name + '{value:<escape>' + message.content + '<escape>}' }}
{{- '<end_function_response>' }}
{%- set ns.called = true %}
{%- else %}
{%- if not ns.called %}{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}{% endif %}
{%- set ns.called = false %}
{{- message.content | trim }}
{%- for call in message.tool_calls or [] %}
{{- '<start_function_call>call:' + call.function.name + '{' }}
{%- for name, value in call.function.arguments | dictsort %}
{{- name + ':<escape>' + value + '<escape>' }}{% if not loop.last %}{{ ',' }}{% endif %}
{%- endfor %}
{{- '}<end_function_call>' }}
{%- set ns.called = true %}
{%- endfor %}
{%- if not message.tool_calls %}{{ '<end_of_turn>\\n' }}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt and not ns.called %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""

LFM2 = """\
{{- bos_token }}
{%- set ns = namespace(system='') %}
{%- if messages[0].role == 'system' %}{% set ns.system = messages[0].content %}{% set messages = messages[1:] %}{% endif %}
{%- if tools %}
{%- set ns.system = ns.system + 'List of tools: <|tool_list_start|>' + (tools | tojson) + '<|tool_list_end|>' %}
{%- endif %}
{%- if ns.system %}{{ '<|im_start|>system\\n' + ns.system + '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
{%- set content = message.content %}
{%- if message.role == 'tool' %}{% set content = '<|tool_response_start|>' + content + '<|tool_response_end|>' %}{% endif %}
{{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

TEMPLATES = {
    "hermes": QWEN, "llama": LLAMA, "pythonic": PYTHONIC, "mistral": MISTRAL, "gemma": GEMMA, "lfm2": LFM2,
}
"""One template for each format. LFM2's writes no calls itself, Mistral's moves the tools to the last question."""
