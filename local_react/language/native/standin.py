"""A chat template that knows tools, for models that have none of their own to be asked: scripts, and trained ones by choice.

Its turns are those of ChatML, and its calls those of the hermes format. A model that wasn't trained on it is told of its
tools all the same, in the system message.
"""

from __future__ import annotations

STAND_IN = """\
{%- if tools or messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{ messages[0].content }}{% if tools %}{{ '\\n\\n' }}{% endif %}{% endif %}
{%- if tools %}
{{- 'You may call these functions. Their signatures stand between the tags:\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' }}{{ tool | tojson }}{% endfor %}
{{- '\\n</tools>\\nTo call one, write a JSON object between two tags, and nothing behind it:\\n' }}
{{- '<tool_call>\\n{"name": "the function", "arguments": {"an argument": "its value"}}\\n</tool_call>' }}
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
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""
"""Its source."""
