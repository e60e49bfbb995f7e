"""The sandbox of chat templates: what it allows, and that whatever a template tries ends soon, with the limit named."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from local_react.errors import TemplateError
from local_react.language.sandbox import RANGE_LIMIT, SOURCE_LIMIT, Sandbox

ALLOWED: list[tuple[str, dict[str, Any], str]] = [
    ("{{ a }}", {"a": "x"}, "x"),
    ("{{ nothing }}", {}, ""),
    ("{{ a ~ 1 ~ [2] }}", {"a": "x"}, "x1[2]"),
    ("{{ 'a' + 'b' }}{{ 'ab' * 2 }}{{ 2 * 3 }}{{ 7 % 4 }}{{ 2 ** 3 }}{{ '%s!' % 'a' }}", {}, "ababab638a!"),
    ("{% for i in range(5) %}{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", {}, "02"),
    ("{% for x in a if x > 1 %}{{ loop.index }}:{{ x }} {% else %}none{% endfor %}", {"a": [1, 2, 3]}, "1:2 2:3 "),
    ("{% for x in a recursive %}{{ x.n }}{{ loop(x.c) }}{% endfor %}", {"a": [{"n": 1, "c": [{"n": 2, "c": []}]}]}, "12"),
    ("{% macro m(x, y='b') %}<{{ x }}{{ y }}{{ caller() if caller }}>{% endmacro %}{{ m('a') }}{% call m(1, y=2) %}c{% endcall %}",
     {}, "<ab><12c>"),
    ("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", {}, "3"),
    ("  {% if true %}\n  x\n  {% endif %}\ny", {}, "  x\ny"),
    ("{{ a|tojson }}", {"a": {"k": "é<'\"", "n": None}}, '{"k": "é<\'\\"", "n": null}'),
    ("{{ a|tojson(indent=1) }}", {"a": {"k": 1}}, '{\n "k": 1\n}'),
    ("{{ a|join(', ') }}|{{ b|join('/', attribute='n') }}|{{ ','.join(a) }}", {"a": ["x", "y"], "b": [{"n": 1}]}, "x, y|1|x,y"),
    ("{{ 'a-b'.replace('-', '+') }}{{ 'a-b-c'|replace('-', '+', 1) }}", {}, "a+ba+b-c"),
    ("{{ '{:>3}|{n}'.format(7, n=8) }}", {}, "  7|8"),
    ("{{ 'a\nb'|indent(2, first=true) }}", {}, "  a\n  b"),
    ("{{ a|selectattr('r', 'equalto', 1)|map(attribute='t')|list }}", {"a": [{"r": 1, "t": "x"}, {"r": 2, "t": "y"}]}, "['x']"),
    ("{% generation %}{% set x = 1 %}a{{ x }}{% endgeneration %}{{ x }}", {}, "a1"),
    ("{{ a is mapping }}{{ a.items()|list }}{{ a|dictsort }}", {"a": {"b": 1}}, "True[('b', 1)][('b', 1)]"),
    ("{% set a, b = 1, (2, 3) %}{{ a }}{{ b }}{% for c, d in [(1, 2)] %}{{ c }}{{ d }}{% endfor %}{{ 1 in [1, 2] }}", {},
     "1(2, 3)12True"),
    ("{% filter upper %}a{% endfilter %}{% set x %}b{{ 1 }}{% endset %}{{ x }}", {}, "Ab1"),
]


@pytest.mark.parametrize(("source", "variables", "text"), ALLOWED)
def test_what_templates_use_works(source: str, variables: dict[str, Any], text: str) -> None:
    assert Sandbox(source).render(variables) == text


BROKEN = [
    ("{% if %}", "broken in line 1"),
    ("\n{{ 'x' }\n", "broken in line 2"),
    ("{% endfor %}", "broken"),
    ("{{ x|center(10) }}", "No filter named 'center'"),
    ("{% generation %}", "broken"),
    ("{% include 'x' %}", "no loader"),
    ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "recursion"),
    ("{{ " + "-" * 20000 + "1 }}", "recursion"),
    ("{% if a %}" * 500 + "{% endif %}" * 500, "broken|nested"),
    ("x" * (SOURCE_LIMIT + 1), "131,073 characters, and 131,072 is the limit"),
    ("{# " + "x" * (1 << 20) + " #}", "is the limit"),
]


@pytest.mark.parametrize(("source", "message"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_template_is_refused(source: str, message: str) -> None:
    started = time.process_time()
    with pytest.raises(TemplateError, match=message):
        Sandbox(source).render({})
    assert time.process_time() - started < 3


DOUBLING = "{% set x = 'a' * 1000 %}"
NESTED = (
    "{% set a = namespace(x=[1], y=[1]) %}"
    "{% for i in range(40) %}{% set a.x = [a.x, a.x] %}{% set a.y = [a.y, a.y] %}{% endfor %}"
)
"""Two lists with all their parts twice: each holds two elements, and comparing them has no end."""

TWO_MILLION = "{% set x = 'a' * 2000000 %}"

ENDLESS = [
    ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "doesn't end within 100,000"),
    ("{% for a in r %}{% for b in r if false %}{% endfor %}{% endfor %}", "doesn't end within"),
    ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
    ("{% for x in a recursive %}{{ loop(a) }}{% endfor %}", "recursion"),
    (f"{{{{ range({RANGE_LIMIT + 1}) }}}}", "a range may have 10,000 numbers"),
    ("{{ 'x' * 10 ** 10 }}", "is the limit"),
    ("{{ 10 ** 10 * 'x' }}", "is the limit"),
    ("{{ [1] * 10 ** 10 }}", "is the limit"),
    ("{{ 9 ** (9 ** 9) }}", "bits"),
    (DOUBLING + "{% set x = x ~ x %}" * 60, "is the limit"),
    (DOUBLING + "{% set x = x + x %}" * 60, "is the limit"),
    (DOUBLING + "{% set x %}{{ x }}{{ x }}{% endset %}" * 60, "is the limit"),
    (DOUBLING + "{% set x = [x, x]|join %}" * 60, "is the limit"),
    (DOUBLING + "{% set x = ''.join([x, x]) %}" * 60, "is the limit"),
    (DOUBLING + "{% set x = x|replace('a', 'aa') %}" * 60, "is the limit"),
    (DOUBLING + "{% set x = x.replace('a', 'aa') %}" * 60, "is the limit"),
    ("{% set x = [1] %}" + "{% set x = x + x %}" * 60, "limit|doesn't end"),
    ("{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x }}", "doesn't end"),
    ("{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x|tojson }}", "doesn't end"),
    (NESTED + "{{ a.x == a.y }}", "doesn't end"),
    (NESTED + "{{ a.x in [a.y] }}", "doesn't end"),
    (NESTED + "{{ [a.x, a.y]|sort }}", "doesn't end"),
    (NESTED.replace("[", "(").replace("]", ")") + "{{ {a.x: 1} }}", "doesn't end"),
    (NESTED.replace("[a.x, a.x]", "dict(b=a.x, c=a.x)").replace("[a.y, a.y]", "dict(b=a.y, c=a.y)") + "{{ a.x == a.y }}",
     "doesn't end"),
    ("{% set a = namespace(x=(1,)) %}{% macro m() %}{% set a.x = varargs %}{% endmacro %}"
     "{% for i in range(60) %}{{ m(a.x, a.x) }}{% endfor %}{{ a.x == a.x }}", "doesn't end"),
    (TWO_MILLION + "{% for i in range(9999) %}{% set y = x|max %}{% endfor %}", "doesn't end"),
    (TWO_MILLION + "{% for i in range(9999) %}{% set y = x|upper %}{% endfor %}", "doesn't end"),
    (TWO_MILLION + "{% for i in range(9999) %}{% set y = x.count('ab') %}{% endfor %}", "doesn't end"),
    ("{% for i in range(9999) %}{% set x = (r|list)|sort %}{% endfor %}", "doesn't end"),
    ("{{ ('a' * 1000).translate({97: 'b' * 1000000}) }}", "is the limit"),
    ("{% for i in range(9999) %}{{ 'x' * 1000 }}{% endfor %}", "is the limit"),
    ("{{ 'x'.ljust(10 ** 9) }}", "a number above 1,000"),
    ("{{ 'x'.zfill(width=99999) }}", "above 1,000|no keyword"),
    ("{{ '{:100000}'.format(1) }}", "width above 1,000"),
    ("{{ '{:{w}}'.format(1, w=10 ** 9) }}", "width above 1,000"),
    ("{{ '%100000d' % 1 }}", "width above 1,000"),
    ("{{ '%*d' % (10 ** 9, 1) }}", "width above 1,000"),
]


@pytest.mark.parametrize(("source", "message"), ENDLESS, ids=range(len(ENDLESS)))
def test_what_grows_without_end_is_stopped_at_a_limit(source: str, message: str) -> None:
    sandbox = Sandbox(source)
    started = time.process_time()
    with pytest.raises(TemplateError, match=message):
        sandbox.render({"r": range(9999), "a": [1]})
    assert time.process_time() - started < 5


ESCAPES = [
    "{{ ''.__class__.__mro__ }}", "{{ cycler.__init__.__globals__ }}", "{{ a.append(1) }}", "{{ a.__len__ }}",
    "{{ namespace.__init__ }}", "{{ '{0.__class__}'.format('') }}", "{{ [].__class__ }}", "{{ joiner.__init__.__globals__.os }}",
    "{{ raise_exception.__globals__ }}", "{{ range.__self__ }}", "{% set x = a.pop() %}",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_nothing_leads_out_of_the_sandbox(source: str) -> None:
    given = [1, 2]
    try:
        assert Sandbox(source).render({"a": given}) == "", "an undefined value"
    except TemplateError as error:
        assert "unsafe" in str(error) or "safely" in str(error) or "undefined" in str(error)
    assert given == [1, 2]


def test_a_refusal_of_the_template_is_told_from_its_failures() -> None:
    with pytest.raises(TemplateError, match="refuses these messages: no system") as refused:
        Sandbox("{{ raise_exception('no system\nrole') }}").render({})
    with pytest.raises(TemplateError, match="fails on these messages .UndefinedError: 'x' is undefined") as failed:
        Sandbox("{{ x.y.z }}").render({})
    assert (refused.value.is_refusal, failed.value.is_refusal) == (True, False)


def test_each_rendering_has_the_whole_of_its_work_to_itself() -> None:
    sandbox = Sandbox("{% for j in range(4) %}{% for i in range(9999) %}{% endfor %}{% endfor %}x")
    assert [sandbox.render({}) for _ in range(3)] == ["x"] * 3


def test_threads_may_share_a_template() -> None:
    sandbox = Sandbox("{% for i in range(50) %}{{ a }}{% endfor %}")
    found: list[str] = []
    threads = [threading.Thread(target=lambda n=n: found.append(sandbox.render({"a": n}))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [str(n) * 50 for n in range(8)]
