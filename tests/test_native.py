"""Native runs: the same loop over a model's own chat template and call format, free and constrained, on every architecture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_react import (
    Answer,
    Call,
    Guards,
    Malformed,
    Model,
    Protocol,
    Sampling,
    ScriptedModel,
    SettingsError,
    Tool,
    Toolbox,
    Trace,
    parse_step,
    run,
    run_many,
    tool,
)
from local_react.language.native.formats import FORMATS, NativeFormat
from local_react.language.native.standin import HERMES
from local_react.language.native.write import write_native_call
from local_react.language.template import ChatTemplate
from local_react.llama.markup import MarkupVocabulary
from local_react.replay import first_difference, replay
from local_react.trace import read_pieces
from tests.language.native.templates import GEMMA, LFM2, LLAMA, MISTRAL, QWEN, TEMPLATES
from tests.random_architectures import ARCHITECTURES
from tests.random_models import byte_level_vocabulary, make_model

each_format = pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)


@tool
def find(what: str) -> str:
    """Find something."""
    return f"found {what}"


@tool
def add(a: int, b: float = 0.5) -> float:
    """Add."""
    return a + b


@tool
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


TOOLS = Toolbox([find, add, fail])


def call(format: NativeFormat, name: str, **arguments: Any) -> str:
    return write_native_call(name, arguments, TOOLS[name], format)


def play(script: list[str], format: NativeFormat = FORMATS["hermes"], **options: Any) -> Trace:
    protocol = Protocol.preset("native", native=format.name)
    return run("Where is Ann?", model=ScriptedModel(script), tools=TOOLS, protocol=protocol, **options)


def transcript(trace: Trace) -> str:
    return "".join(event["text"] for event in trace.events if event["event"] == "tokens")


@each_format
def test_a_run_calls_reads_the_result_and_ends_with_a_message_without_a_call(format: NativeFormat) -> None:
    script = [f"I look.\n{call(format, 'find', what='Ann')}", call(format, "add", a=1), "Ann is there."]
    trace = play(script, format, template=ChatTemplate(TEMPLATES[format.name], bos="<s>", eos="</s>"), strict=True)
    assert [step.action for step in trace.steps] == [
        Call("find", {"what": "Ann"}, "I look."), Call("add", {"a": 1}), Answer("Ann is there."),
    ]
    assert (trace.ending, trace.answer) == ("answered", "Ann is there.")
    assert trace.evaluated <= trace.n_tokens and trace.events[0]["protocol"]["native"] == format.name
    assert first_difference(trace, replay(trace)) is None
    owners = [event["owner"] for event in trace.events if event["event"] == "tokens"]
    assert owners == ["program", "model", "program", "observation", "program", "model", "program", "observation", "program", "model"]


def test_the_transcript_reads_like_the_template() -> None:
    trace = play(["I look.\n" + call(FORMATS["hermes"], "find", what="Ann"), "There."], template=ChatTemplate(QWEN))
    text = transcript(trace)
    assert text[text.index("Where is Ann?") :] == (
        "Where is Ann?<|im_end|>\n<|im_start|>assistant\nI look.\n"
        '<tool_call>\n{"name": "find", "arguments": {"what": "Ann"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nfound Ann\n</tool_response><|im_end|>\n<|im_start|>assistant\nThere."
    )
    assert '"name": "find", "description": "Find something."' in text


def test_a_template_is_rendered_for_the_prompt_and_the_frames_and_never_for_a_step() -> None:
    counts = []
    for n_steps in (1, 4):
        template = ChatTemplate(QWEN)
        play([call(FORMATS["hermes"], "add", a=n) for n in range(n_steps)] + ["5"], template=template)
        counts.append(template.n_renderings)
    assert counts[0] == counts[1]


def test_the_format_is_that_of_the_template_unless_it_is_named() -> None:
    script = ["[TOOL_CALLS]" + '[{"name": "add", "arguments": {"a": 1}}]', "1.5"]
    trace = run("1?", model=ScriptedModel(script), tools=TOOLS, protocol="native", template=ChatTemplate(MISTRAL, eos="</s>"))
    assert trace.events[0]["protocol"]["native"] == "mistral" and trace.answer == "1.5"
    assert trace.events[0]["settings"]["template_rewrites"] is True


def test_a_result_stands_in_a_string_where_the_template_has_it_there() -> None:
    trace = play([call(FORMATS["llama"], "find", what='"A"\nb'), "x"], FORMATS["llama"], template=ChatTemplate(LLAMA))
    assert '<|start_header_id|>ipython<|end_header_id|>\n\n"found \\"A\\"\\nb"<|eot_id|>' in transcript(trace)


def test_the_result_of_functiongemma_names_the_tool_and_goes_on_in_the_same_turn() -> None:
    trace = play([call(FORMATS["gemma"], "find", what="Ann"), "x"], FORMATS["gemma"], template=ChatTemplate(GEMMA))
    assert transcript(trace).endswith(
        "<start_of_turn>model\n<start_function_call>call:find{what:<escape>Ann<escape>}<end_function_call>"
        "<start_function_response>response:find{value:<escape>found Ann<escape>}<end_function_response>x"
    )


NOTICES = [
    # what the model writes first, what the transcript has behind it
    ('<tool_call>{"name": "add", "arguments": {}}</tool_call>', "<|im_end|>\n<|im_start|>user\nNotice: The argument a "),
    ('<tool_call>{"name": "ad", "arguments": {}}</tool_call>', "<|im_end|>\n<|im_start|>user\nNotice: There is no tool called ad"),
    ("<tool_call>", "<|im_end|>\n<|im_start|>user\nNotice: The call ends before it has begun."),
]


@pytest.mark.parametrize(("message", "behind"), NOTICES)
def test_a_mistake_is_explained_as_a_message_of_the_user(message: str, behind: str) -> None:
    trace = play([message, "x"], template=ChatTemplate(QWEN))
    assert message + behind in transcript(trace)
    assert isinstance(trace.steps[0].action, Malformed) and trace.answer == "x"
    assert first_difference(trace, replay(trace)) is None


def test_a_repeated_call_is_answered_by_a_notice_in_its_result() -> None:
    same = call(FORMATS["hermes"], "add", a=1)
    trace = play([same, same, "x"], template=ChatTemplate(QWEN))
    assert same + "<|im_end|>\n<|im_start|>user\n<tool_response>\nNotice: This very call of add was made" in transcript(trace)


def test_the_last_step_is_asked_for_within_the_turn_that_is_open() -> None:
    trace = play([call(FORMATS["hermes"], "add", a=1), "x"], template=ChatTemplate(QWEN), max_steps=2)
    assert "\n1.5\nNotice: This is the last step. Give the final answer now, without a call.\n</tool_response>" in transcript(trace)
    trace = play(["<tool_call>", "x"], template=ChatTemplate(QWEN), max_steps=2)
    assert "or answer without a call.\nNotice: This is the last step." in transcript(trace)
    assert play(["x"], template=ChatTemplate(QWEN), max_steps=1).answer == "x"


def test_an_answer_before_the_least_number_of_calls_is_refused() -> None:
    guards = Guards(min_calls=1)
    trace = play(["x", call(FORMATS["hermes"], "add", a=1), "y"], template=ChatTemplate(QWEN), guards=guards)
    assert "x<|im_end|>\n<|im_start|>user\nNotice: Call a tool first" in transcript(trace) and trace.answer == "y"


def test_without_notices_the_turns_still_alternate() -> None:
    trace = play(["<tool_call>", "x"], template=ChatTemplate(QWEN), guards=Guards(parse_notices=False))
    assert "<tool_call><|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\nx" in transcript(trace)


def test_an_error_of_a_tool_is_its_result() -> None:
    trace = play([call(FORMATS["hermes"], "fail", why="no"), "x"])
    assert trace.steps[0].observation.text == "Error: ValueError: no" and trace.steps[0].observation.is_error


def test_a_message_ends_behind_its_first_call_and_before_an_invented_result() -> None:
    one = call(FORMATS["hermes"], "add", a=1)
    trace = play([one + "\n<tool_response>\nforged", "5 <tool_response>\nforged</tool_response>", "x"])
    assert trace.completions[0]["text"] == one
    assert trace.steps[1].action.code == "hallucinated_observation"
    assert "forged" not in transcript(trace) and trace.answer == "x"


@pytest.mark.parametrize(("options", "message"), [
    ({"protocol": Protocol.preset("native", native="xml")}, "no native format called 'xml'"),
    ({"template": ChatTemplate("{% for message in messages %}{{ message.content }}{% endfor %}:")}, "knows no tools"),
    ({"protocol": Protocol.preset("native", native="gemma"), "template": ChatTemplate(QWEN)}, "in another way than the format gemma"),
    ({"grammar": "x.gbnf"}, "grammar"),
])
def test_what_does_not_go_together_is_refused_before_the_run(options: dict[str, Any], message: str) -> None:
    options = {"protocol": "native"} | options
    with pytest.raises(SettingsError, match=message):
        run("x", model=ScriptedModel(["x"]), tools=TOOLS, **options)


CONTROL = ["<|tool_call_start|>", "<|tool_call_end|>", "<start_function_call>", "<end_function_call>", "<escape>", "[TOOL_CALLS]"]
"""Tokens of their own in the families' vocabularies."""


@pytest.fixture(scope="module", params=["markup is text", "markup is tokens"])
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """A tiny random model, in whose vocabulary the markup of calls is text, or tokens of its own."""
    control = CONTROL if request.param == "markup is tokens" else []
    path = make_model(tmp_path_factory.mktemp("native") / "tiny.gguf", control=control, seed=3)
    with Model.load(path, n_threads=1) as model:
        yield model


COMPILED = {name: ChatTemplate(source, eos="<|im_end|>") for name, source in TEMPLATES.items()}


def constrained(model: Model, format: NativeFormat, **options: Any) -> Trace:
    guards = {"max_steps": 4, "max_step_tokens": 68, "max_thought_tokens": 6, "repeated_calls": False} | options.pop("guards", {})
    options = {"constrain": True, "sampling": Sampling(temperature=1.5)} | options
    return run(
        "What is it?", model=model, tools=TOOLS, protocol=Protocol.preset("native", native=format.name),
        template=COMPILED[format.name], guards=Guards(**guards), **options,
    )


def strictly_valid(trace: Trace) -> bool:
    """Whether each call reads strictly as what it was taken for; no step is malformed or cut off."""
    protocol = Protocol(**trace.events[0]["protocol"])
    for event, step in zip(trace.completions, trace.steps):
        if isinstance(step.action, Malformed) or event["reason"] != "constraint":
            return False
        if isinstance(step.action, Call):
            written = b"".join(read_pieces(event["pieces"])[event.get("n_thought_pieces", 0) :]).decode()
            read = parse_step(written.lstrip("\n"), protocol, TOOLS, strict=True)
            if not isinstance(read, Call) or read.arguments != step.action.arguments:
                return False
    return len(trace.completions) == len(trace.steps) > 0


@each_format
def test_a_random_model_under_the_constraint_makes_valid_calls_only(tiny: Model, format: NativeFormat) -> None:
    for seed, (engine, min_calls) in enumerate((("llguidance", 0), ("gbnf", 2), ("outlines", 2))):
        sampling = Sampling(temperature=[1.0, 2.0, 1.5][seed], seed=seed)
        trace = constrained(tiny, format, engine=engine, sampling=sampling, guards={"min_calls": min_calls})
        assert strictly_valid(trace), trace.steps
        assert trace.ending == "answered" and sum(isinstance(step.action, Call) for step in trace.steps) >= min_calls
        assert trace.evaluated <= trace.n_tokens
        assert first_difference(trace, replay(trace)) is None


@pytest.mark.parametrize("engine", ["llguidance", "gbnf", "outlines"])
def test_markup_may_be_user_defined_tokens(tmp_path: Path, engine: str) -> None:
    """Regression: in Qwen's vocabularies it is, and llguidance took such tokens for control tokens and gave up."""
    names = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
    kinds = [*byte_level_vocabulary()[1]["tokenizer.ggml.token_type"], *[4] * len(names)]
    path = make_model(tmp_path / "tiny.gguf", control=names, changes={"tokenizer.ggml.token_type": kinds}, seed=3)
    with Model.load(path, n_threads=1) as model:
        trace = constrained(model, FORMATS["hermes"], engine=engine, guards={"min_calls": 2})
        assert strictly_valid(trace) and first_difference(trace, replay(trace)) is None
        ids = [id for event in trace.events if event["event"] == "tokens" for id in event["ids"]]
        assert model.vocabulary.tokenize("<tool_call>")[0] in ids


@each_format
def test_a_whole_message_can_be_held(tiny: Model, format: NativeFormat) -> None:
    trace = constrained(tiny, format, constrain="step", guards={"min_calls": 2, "max_steps": 3})
    assert strictly_valid(trace) and trace.ending == "answered"
    assert first_difference(trace, replay(trace)) is None


def test_markup_that_is_a_token_is_written_as_that_token(tiny: Model) -> None:
    trace = constrained(tiny, FORMATS["gemma"], guards={"min_calls": 2})
    vocabulary = MarkupVocabulary(tiny.vocabulary, FORMATS["gemma"].markup)
    ids = [id for event in trace.events if event["event"] == "tokens" for id in event["ids"]]
    names = [tiny.vocabulary.piece(id).decode("utf-8", "replace") for id in ids]
    n_calls = sum(isinstance(step.action, Call) for step in trace.steps)
    assert n_calls >= 2
    if vocabulary.markup:
        # A random model may write the closing one anywhere; the opening one begins a call wherever it stands.
        assert names.count("<start_function_call>") == n_calls <= names.count("<end_function_call>")
    else:
        assert "<start_function_call>" not in names


@each_format
def test_any_budget_from_the_least_on_ends_every_step(tiny: Model, format: NativeFormat) -> None:
    with pytest.raises(SettingsError, match=r"the shortest step takes \d+ tokens") as refusal:
        constrained(tiny, format, guards={"max_step_tokens": 1})
    least = int(str(refusal.value).split("takes ")[1].split()[0])
    for budget in (least, least + 1, least + 5):
        trace = constrained(tiny, format, guards={"max_step_tokens": budget, "min_calls": 1, "max_steps": 2}, sampling=Sampling(temperature=2.0))
        assert strictly_valid(trace) and trace.ending == "answered", budget


def test_explained_grounded_and_repaired_runs_work_as_for_labelled_steps(tiny: Model) -> None:
    from_schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": r"^A\d+$"}}, "required": ["id"]}
    look_up = Tool.from_schema("look_up", "Look it up.", from_schema, lambda id: f"{id} and A7")
    trace = run(
        "What is A100?", model=tiny, tools=[look_up], protocol=Protocol.preset("native", native="hermes"),
        template=ChatTemplate(QWEN), constrain=True, ground=True, explain=True, sampling=Sampling(temperature=2.0),
        guards=Guards(max_steps=4, min_calls=3, max_thought_tokens=6, repeated_calls=False),
    )
    calls = [step.action for step in trace.steps if isinstance(step.action, Call)]
    assert len(calls) == 3 and {c.arguments["id"] for c in calls} <= {"A100", "A7"}
    assert all(event["seen_in"] for event in trace.events if event["event"] == "action" and event["kind"] == "call")
    assert any(choice["origin"] == "forced" for event in trace.completions for choice in event.get("choices", ()))
    trace = constrained(tiny, FORMATS["hermes"], constrain="repair", guards={"max_malformed": None})
    assert trace.ending in ("answered", "step_limit")


def test_a_grounded_tool_that_nothing_was_seen_for_leaves_only_the_answer(tiny: Model) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": r"^A\d+$"}}, "required": ["id"]}
    look_up = Tool.from_schema("look_up", "Look it up.", schema, lambda id: id)
    trace = run(
        "What?", model=tiny, tools=[look_up], protocol=Protocol.preset("native", native="llama"),
        template=ChatTemplate(LLAMA), constrain=True, ground=True, sampling=Sampling(temperature=2.0),
    )
    assert trace.ending == "answered" and isinstance(trace.steps[0].action, Answer)
    assert first_difference(trace, replay(trace)) is None


def test_several_episodes_share_batches(tiny: Model) -> None:
    traces = run_many(
        ["What is it?", "Who?", "Why?"], model=tiny, tools=TOOLS, protocol=Protocol.preset("native", native="lfm2"),
        template=ChatTemplate(LFM2), constrain=True, sampling=Sampling(temperature=1.0), n_parallel=3,
        guards=Guards(max_steps=3, min_calls=1, max_step_tokens=60, repeated_calls=False),
    )
    assert all(strictly_valid(trace) and trace.ending == "answered" for trace in traces)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_eight_constrained_steps_on_every_architecture(architecture: str, tmp_path: Path) -> None:
    path = make_model(tmp_path / "tiny.gguf", architecture=architecture, chat_template=QWEN, seed=5)
    guards = Guards(max_steps=9, min_calls=8, max_step_tokens=60, max_thought_tokens=4, repeated_calls=False)
    with Model.load(path, n_threads=1) as model:
        trace = run(
            "What is it?", model=model, tools=TOOLS, protocol="native", constrain=True, guards=guards,
            sampling=Sampling(temperature=1.0, seed=2),
        )
    assert trace.events[0]["protocol"]["native"] == "hermes"
    assert strictly_valid(trace) and trace.ending == "answered"
    assert sum(isinstance(step.action, Call) for step in trace.steps) == 8
    assert trace.evaluated <= trace.n_tokens


def test_a_model_whose_template_knows_no_tools_is_told_what_to_do(tmp_path: Path) -> None:
    for source in (None, "{{ messages[0].content }}{% if add_generation_prompt %}:{% endif %}"):
        path = make_model(tmp_path / "tiny.gguf", chat_template=source)
        with Model.load(path, n_threads=1) as model, pytest.raises(SettingsError, match="--template FILE") as refusal:
            run("x", model=model, tools=TOOLS, protocol="native")
        assert "tiny.gguf" in str(refusal.value) and json.dumps(list(FORMATS))[2:8] in str(refusal.value)


@pytest.mark.slow
def test_smollm2_makes_no_invalid_call_in_two_hundred_constrained_steps(smollm2: Model) -> None:
    """At temperature 1, with a template of ours: its own one knows no tools."""
    guards = Guards(max_steps=9, min_calls=8, max_step_tokens=100, max_thought_tokens=12, repeated_calls=False)
    questions = [f"What is {number} and a half, and where is Ann?" for number in range(25)]
    traces = run_many(
        questions, model=smollm2, tools=TOOLS, protocol="native", template=ChatTemplate(HERMES), constrain=True,
        sampling=Sampling(temperature=1.0, seed=1), guards=guards, n_parallel=5,
    )
    calls = [step.action for trace in traces for step in trace.steps if isinstance(step.action, Call)]
    assert len(calls) == 200 and {each.name for each in calls} == set(TOOLS)
    assert all(strictly_valid(trace) and trace.ending == "answered" for trace in traces)
    assert all(trace.evaluated <= trace.n_tokens for trace in traces)


THINKING = QWEN.replace("assistant\\n' }}{% endif %}\n", "assistant\\n' }}{% if enable_thinking %}{{ '<think>\\n' }}{% endif %}{% endif %}\n")


def test_a_think_block_comes_before_the_first_message_and_is_no_part_of_it() -> None:
    assert THINKING != QWEN
    one = call(FORMATS["hermes"], "find", what="Ann")
    trace = play(["I could <tool_call> now.</think>\n\n", one, "There."], template=ChatTemplate(THINKING), think="on")
    assert trace.steps[0].action == Call("find", {"what": "Ann"}) and trace.answer == "There."
    assert "<|im_start|>assistant\n<think>\nI could <tool_call> now.</think>\n\n<tool_call>\n{" in transcript(trace)
    assert first_difference(trace, replay(trace)) is None


def test_a_think_block_that_the_template_opens_for_a_later_message_is_closed() -> None:
    """A thought that its budget cut off there was taken for the answer."""
    one = call(FORMATS["hermes"], "find", what="Ann")
    for first in (one, "No."):
        guards = Guards(min_calls=0 if first == one else 1, max_steps=3, final_answer=False)
        script = ["I could.</think>\n\n", first, "There."] if first == one else ["I could.</think>\n\n", first, one, "There."]
        trace = play(script, template=ChatTemplate(THINKING), think="on", guards=guards)
        assert trace.answer == "There." and len(trace.steps) == len(script) - 1
        text = transcript(trace)
        assert text.count("<think>") == text.count("</think>") == len(trace.steps)
        assert "<|im_start|>assistant\n<think>\n</think>\n\nThere." in text
        assert first_difference(trace, replay(trace)) is None


def test_a_model_may_think_again_before_any_later_message() -> None:
    thought = "<think>\nI could <tool_call> now.\n</think>\n\n"
    one = call(FORMATS["hermes"], "find", what="Ann")
    trace = play([thought + one, thought + "There."], template=ChatTemplate(QWEN))
    assert trace.steps[0].action == Call("find", {"what": "Ann"}) and trace.answer == "There."
    assert trace.steps[1].action.thinking == "I could <tool_call> now."


def test_a_think_block_that_has_no_end_is_closed_before_a_call_is_forced(tiny: Model) -> None:
    opening = "{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}"
    guards = Guards(max_steps=2, min_calls=1, max_think_tokens=5, max_thought_tokens=4, max_step_tokens=70)
    trace = run(
        "What?", model=tiny, tools=TOOLS, protocol=Protocol.preset("native", native="hermes"), guards=guards,
        template=ChatTemplate(QWEN + opening), constrain=True, sampling=Sampling(temperature=1.0),
    )
    assert strictly_valid(trace) and trace.ending == "answered"
    text = transcript(trace)
    assert text.count("<think>") >= 1 and "</think>" in text[: text.index("<tool_call>\n{\"name\": \"" + trace.steps[0].action.name)]


def test_the_end_of_the_window_ends_a_run_and_never_leaves_half_a_call(tiny: Model) -> None:
    prompt = constrained(tiny, FORMATS["hermes"], guards={"max_steps": 1}).events[2]["ids"]
    endings = set()
    for room in (75, 90, 130, 170, 230):
        with Model.load(tiny.path, n_threads=1, n_ctx=len(prompt) + room) as small:
            trace = constrained(small, FORMATS["hermes"], guards={"min_calls": 4, "max_steps": None})
        endings.add(trace.ending)
        assert not any(isinstance(step.action, Malformed) for step in trace.steps)
        assert trace.evaluated <= trace.n_tokens <= len(prompt) + room
    assert "context_full" in endings <= {"context_full", "answered"}
