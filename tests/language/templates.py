"""Chat templates of the shapes that model families use, each written for these tests with what is special about it.

`text` is what a system message "Be brief." and the question "Why?" must give, with `<s>` and `</s>` as BOS and EOS, on
30 November 2026; None where the template refuses the system message, and then `user_text` is what the question alone
gives. The texts are written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One template, and what it must give."""

    source: str
    text: str | None
    user_text: str


CHATML_DEFAULT_SYSTEM = Shape(  # SmolLM2, Qwen 2.5: a system message of its own
    """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
)

QWEN3 = Shape(  # thinking switched by a variable; tools in the system message; results grouped; a loop from behind
    """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and not message.content.startswith('<tool_response>') %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set content = message.content %}
        {%- if loop.index0 > ns.last and message.reasoning_content %}
            {{- '<|im_start|>assistant\\n<think>\\n' + message.reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>assistant\\n' + content }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {{- '\\n<tool_call>\\n{"name": "' ~ call.function.name ~ '", "arguments": ' ~ (call.function.arguments | tojson) ~ '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
)

QWQ = Shape(  # the think block is opened by the template, and can't be switched off
    """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content.split('</think>')[-1] + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}""",
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n<think>\n",
    "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n<think>\n",
)

LLAMA2 = Shape(  # the system message inside the first user message; BOS before each pair; refuses a wrong order
    """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nWhy? [/INST]",
    "<s>[INST] Why? [/INST]",
)

LLAMA3 = Shape(  # the date, and a system turn in any case; contents are trimmed
    """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + tool_call.name + '", "parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- else %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable and message.content is not string %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}""",
    "<s><|start_header_id|>system<|end_header_id|>\n\nToday Date: 30 Nov 2026\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "<s><|start_header_id|>system<|end_header_id|>\n\nToday Date: 30 Nov 2026\n\n<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
)

MISTRAL = Shape(  # tools and system message before the last question only, so that earlier turns are rewritten
    """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.function.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- endif %}
            {%- endfor %}
            {{- "][/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {{- ', "id": "' + tool_call.id + '"}' }}
        {%- endfor %}
        {{- "]" + eos_token }}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" %}
        {{- '[TOOL_RESULTS] {"content": ' + message.content|string + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}""",
    "<s>[INST] Be brief.\n\nWhy?[/INST]",
    "<s>[INST] Why?[/INST]",
)

GEMMA2 = Shape(  # no system role at all
    """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}""",
    None,
    "<s><start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n",
)

GEMMA3 = Shape(  # the system message before the first question, in the same turn; contents may be lists of parts
    """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = "model" if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}{{ item['text'] | trim }}{%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<start_of_turn>model\\n'}}{%- endif -%}""",
    "<s><start_of_turn>user\nBe brief.\n\nWhy?<end_of_turn>\n<start_of_turn>model\n",
    "<s><start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n",
)

PHI3 = Shape(  # a branch for each role, and EOS instead of a generation prompt
    """{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "<|system|>\nBe brief.<|end|>\n<|user|>\nWhy?<|end|>\n<|assistant|>\n",
    "<|user|>\nWhy?<|end|>\n<|assistant|>\n",
)

ZEPHYR = Shape(  # blocks on lines of their own; the generation prompt inside the loop
    """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    "<|system|>\nBe brief.</s>\n<|user|>\nWhy?</s>\n<|assistant|>\n",
    "<|user|>\nWhy?</s>\n<|assistant|>\n",
)

GRANITE = Shape(  # thinking is off unless asked for, by other words in the system message
    """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = "Today's Date: " + strftime_now('%B %d, %Y') + "." %}
    {%- if thinking %}
        {%- set system_message = system_message + " Think first, between <think> and </think>." %}
    {%- endif %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}
{%- for message in loop_messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}
    {%- if loop.last and add_generation_prompt %}
        {{- '<|start_of_role|>assistant<|end_of_role|>' }}
    {%- endif %}
{%- endfor %}""",
    "<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Why?<|end_of_text|>\n"
    "<|start_of_role|>assistant<|end_of_role|>",
    "<|start_of_role|>system<|end_of_role|>Today's Date: November 30, 2026.<|end_of_text|>\n"
    "<|start_of_role|>user<|end_of_role|>Why?<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
)

LFM2 = Shape(  # tools as a list behind the system message; earlier thinking is cut off
    """{{- bos_token -}}
{%- set system_prompt = "" -%}
{%- set ns = namespace(system_prompt="") -%}
{%- if messages[0]["role"] == "system" -%}
    {%- set ns.system_prompt = messages[0]["content"] -%}
    {%- set messages = messages[1:] -%}
{%- endif -%}
{%- if tools -%}
    {%- set ns.system_prompt = ns.system_prompt + ("\\n" if ns.system_prompt else "") + "List of tools: <|tool_list_start|>[" -%}
    {%- for tool in tools -%}
        {%- if tool is not string -%}{%- set tool = tool | tojson -%}{%- endif -%}
        {%- set ns.system_prompt = ns.system_prompt + tool -%}
        {%- if not loop.last -%}{%- set ns.system_prompt = ns.system_prompt + ", " -%}{%- endif -%}
    {%- endfor -%}
    {%- set ns.system_prompt = ns.system_prompt + "]<|tool_list_end|>" -%}
{%- endif -%}
{%- if ns.system_prompt -%}{{- "<|im_start|>system\\n" + ns.system_prompt + "<|im_end|>\\n" -}}{%- endif -%}
{%- for message in messages -%}
    {{- "<|im_start|>" + message["role"] + "\\n" -}}
    {%- set content = message["content"] -%}
    {%- if content is not string -%}{%- set content = content | tojson -%}{%- endif -%}
    {%- if message["role"] == "tool" -%}
        {%- set content = "<|tool_response_start|>" + content + "<|tool_response_end|>" -%}
    {%- endif -%}
    {{- content + "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}""",
    "<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
    "<s><|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
)

FUNCTION_GEMMA = Shape(  # macros that call themselves, and sorted dicts
    """{%- macro write_value(value) -%}
    {%- if value is mapping -%}{
        {%- for key, inner in value | dictsort -%}
            {{- key }}:{{ write_value(inner) }}{%- if not loop.last -%},{%- endif -%}
        {%- endfor -%} }
    {%- elif value is string -%}<escape>{{ value }}<escape>
    {%- elif value is sequence -%}[{% for inner in value %}{{ write_value(inner) }}{% if not loop.last %},{% endif %}{% endfor %}]
    {%- else -%}{{ value }}
    {%- endif -%}
{%- endmacro -%}
{{ bos_token }}
{%- if tools or messages[0].role in ['system', 'developer'] -%}
    {{- '<start_of_turn>developer\\n' -}}
    {%- if messages[0].role in ['system', 'developer'] -%}{{ messages[0].content | trim }}{%- endif -%}
    {%- for tool in tools or [] -%}
        {{- '<start_function_declaration>declaration:' ~ tool.function.name ~ write_value({'description': tool.function.description, 'parameters': tool.function.parameters}) ~ '<end_function_declaration>' -}}
    {%- endfor -%}
    {{- '<end_of_turn>\\n' -}}
{%- endif -%}
{%- for message in messages if message.role not in ['system', 'developer'] -%}
    {{- '<start_of_turn>' ~ ('model' if message.role == 'assistant' else message.role) ~ '\\n' ~ message.content | trim ~ '<end_of_turn>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<start_of_turn>model\\n' -}}{%- endif -%}""",
    "<s><start_of_turn>developer\nBe brief.<end_of_turn>\n<start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n",
    "<s><start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n",
)

DEEPSEEK = Shape(  # state kept in a namespace, everything said of thinking is one prefilled tag
    """{%- if not thinking is defined -%}{%- set thinking = false -%}{%- endif -%}
{%- set ns = namespace(system_prompt='', is_first=true) -%}
{%- for message in messages -%}
    {%- if message['role'] == 'system' -%}
        {%- if ns.is_first -%}{%- set ns.system_prompt = ns.system_prompt + message['content'] -%}{%- set ns.is_first = false -%}
        {%- else -%}{%- set ns.system_prompt = ns.system_prompt + '\\n\\n' + message['content'] -%}{%- endif -%}
    {%- endif -%}
{%- endfor -%}
{{- bos_token }}{{ ns.system_prompt }}
{%- for message in messages -%}
    {%- if message['role'] == 'user' -%}{{- '<｜User｜>' + message['content'] -}}
    {%- elif message['role'] == 'assistant' -%}{{- '<｜Assistant｜></think>' + message['content'] + '<｜end▁of▁sentence｜>' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<｜Assistant｜>' -}}{%- if thinking -%}{{- '<think>' -}}{%- else -%}{{- '</think>' -}}{%- endif -%}{%- endif -%}""",
    "<s>Be brief.<｜User｜>Why?<｜Assistant｜></think>",
    "<s><｜User｜>Why?<｜Assistant｜></think>",
)

GPT_OSS = Shape(  # channels, and a date; the turn is opened inside no channel
    """{%- macro build_system() -%}
    {{- "You are a model.\\nCurrent date: " + strftime_now("%Y-%m-%d") + "\\n\\nReasoning: " + (reasoning_effort or "medium") }}
{%- endmacro -%}
{{- "<|start|>system<|message|>" }}{{ build_system() }}{{ "<|end|>" }}
{%- if messages[0].role in ["developer", "system"] %}
    {{- "<|start|>developer<|message|># Instructions\\n\\n" + messages[0].content + "<|end|>" }}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages -%}
    {%- if message.role == 'user' -%}{{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- elif message.role == 'assistant' -%}{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}{%- endif -%}
{%- endfor -%}
{#- a turn begins with <|channel|>analysis<|message|> or with <|channel|>final<|message|> #}
{%- set channels = "<|channel|>analysis<|message|>" -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}""",
    "<|start|>system<|message|>You are a model.\nCurrent date: 2026-11-30\n\nReasoning: medium<|end|>"
    "<|start|>developer<|message|># Instructions\n\nBe brief.<|end|><|start|>user<|message|>Why?<|end|><|start|>assistant",
    "<|start|>system<|message|>You are a model.\nCurrent date: 2026-11-30\n\nReasoning: medium<|end|>"
    "<|start|>user<|message|>Why?<|end|><|start|>assistant",
)

SMOLLM3 = Shape(  # marks of what to train on, and a default of thinking
    """{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set mode = "/think" if enable_thinking else "/no_think" -%}
{{- "<|im_start|>system\\nReasoning Mode: " + mode + "\\n\\n" -}}
{%- if messages[0].role == "system" -%}{{- messages[0].content -}}{%- endif -%}{{- "<|im_end|>\\n" -}}
{%- for message in messages -%}
    {%- if message.role == "user" -%}{{ "<|im_start|>user\\n" + message.content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}{{ "<|im_start|>assistant\\n" + message.content.lstrip("\\n") + "<|im_end|>\\n" }}{% endgeneration %}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- "<|im_start|>assistant\\n" -}}{%- if not enable_thinking -%}{{- "<think>\\n\\n</think>\\n" -}}{%- endif -%}
{%- endif -%}""",
    "<|im_start|>system\nReasoning Mode: /think\n\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nReasoning Mode: /think\n\n<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
)

VICUNA = Shape(  # no control tokens but EOS
    """{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] + ' ' }}{% endif %}{% for message in messages %}{% if message['role'] == 'user' %}{{ 'USER: ' + message['content'].strip() + ' ' }}{% elif message['role'] == 'assistant' %}{{ 'ASSISTANT: ' + message['content'].strip() + eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}""",
    "Be brief. USER: Why? ASSISTANT:",
    "USER: Why? ASSISTANT:",
)

GLM4 = Shape(  # loop controls
    """[gMASK]<sop>
{%- for message in messages %}{% if message.role == 'developer' %}{% continue %}{% endif %}
{%- if loop.index0 > 50 %}{% break %}{% endif %}<|{{ message.role }}|>
{{ message.content }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ '\\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' }}{%- endif %}""",
    "[gMASK]<sop><|system|>\nBe brief.<|user|>\nWhy?<|assistant|>",
    "[gMASK]<sop><|user|>\nWhy?<|assistant|>",
)

COMMAND_R = Shape(  # a preamble in any case, a name for each role from a dict, a filter in a block
    """{{ bos_token }}{% set names = {'user': '<|USER_TOKEN|>', 'assistant': '<|CHATBOT_TOKEN|>', 'system': '<|SYSTEM_TOKEN|>'} %}
{%- if messages[0].role != 'system' %}<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>{% filter trim %}  Be of help. {% endfilter %}<|END_OF_TURN_TOKEN|>{% endif %}
{%- for message in messages %}<|START_OF_TURN_TOKEN|>{{ names[message.role] }}{{ message.content }}<|END_OF_TURN_TOKEN|>{% endfor %}
{%- if add_generation_prompt %}<|START_OF_TURN_TOKEN|>{{ names.assistant }}{% endif %}""",
    "<s><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>Why?"
    "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "<s><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Be of help.<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>Why?"
    "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
)

MAGISTRAL = Shape(  # think tags of its own, which the model opens itself
    """{{ bos_token }}{% for message in messages %}{% if message.role == 'system' %}[SYSTEM_PROMPT]{{ message.content }} Draft your thinking between [THINK] and [/THINK].[/SYSTEM_PROMPT]{% elif message.role == 'user' %}[INST]{{ message.content }}[/INST]{% else %}{{ message.content }}{{ eos_token }}{% endif %}{% endfor %}""",
    "<s>[SYSTEM_PROMPT]Be brief. Draft your thinking between [THINK] and [/THINK].[/SYSTEM_PROMPT][INST]Why?[/INST]",
    "<s>[INST]Why?[/INST]",
)

SHAPES = {name.lower(): value for name, value in vars().copy().items() if isinstance(value, Shape)}
"""Every shape by name."""
