"""Two chat templates that know tools, for models that have none to be asked.

`PLAIN` writes no calls itself, so it goes with every format: scripted models and replays use it. `HERMES` gives a model that
was trained on the turns of ChatML, but on no tools, those of the hermes format; such a model has only the system message to
tell it how calls are written.
"""

from __future__ import annotations

from local_react.language.protocol import TOOL_CALL_TAGS

PLAIN = """\
{%- if tools %}{{ '<|im_start|>system\\n' }}{{ tools | tojson }}{{ '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}{{ message.content }}{{ '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

HERMES = """\
{%- if tools or messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{ messages[0].content }}{% if tools %}{{ '\\n\\n' }}{% endif %}{% endif %}
{%- if tools %}
{{- 'You may call these functions. Their signatures stand between the tags:\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' }}{{ tool | tojson }}{% endfor %}
{{- '\\n</tools>\\nTo call one, write a JSON object between two tags, and nothing behind it:\\n' }}
{{- 'OPENING\\n{"name": "the function", "arguments": {"an argument": "its value"}}\\nCLOSING' }}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' }}{{ message.content }}{{ '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role != 'system' %}
{{- '<|im_start|>' + message.role + '\\n' }}{{ message.content }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}{{ '\\n' }}{% endif %}
{{- 'OPENING\\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}
{{- '}\\nCLOSING' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
""".replace("OPENING", TOOL_CALL_TAGS[0]).replace("CLOSING", TOOL_CALL_TAGS[1])
