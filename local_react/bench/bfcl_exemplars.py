"""Worked calls for the leaderboard: a function, a question, and the call that answers it.

Written for this benchmark, about things that no row of the leaderboard asks for. Each brings its own function, since the
functions of the rows differ from row to row. They go from the plain to the odd: the first two are what the arms with two
exemplars show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_react.language.protocol import ArgumentStyle
from local_react.language.schema import read_parameters
from local_react.language.signature import Signature, Signatures


@dataclass(frozen=True, slots=True, kw_only=True)
class CallExemplar:
    """A question and the one right call of the function, which is described as the rows describe theirs."""

    question: str
    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    arguments: Mapping[str, Any]
    thought: str

    @property
    def signature(self) -> Signature:
        """The function as the language sees it."""
        return Signature(self.name, self.description, read_parameters(self.schema, tool=self.name))

    @property
    def schema(self) -> dict[str, Any]:
        """The parameters as one object schema."""
        return {"type": "dict", "properties": dict(self.properties), "required": list(self.required)}


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _whole(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "description": description, **more}


def _number(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "float", "description": description, **more}


def _flag(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "boolean", "description": description, **more}


def _list(kind: str, description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}, "description": description}


EXEMPLARS: tuple[CallExemplar, ...] = (
    CallExemplar(
        question="Reserve a pitch for 3 nights at the Lakeside campsite, for 4 people.",
        name="campsite.reserve",
        description="Reserve a pitch on a campsite.",
        properties={
            "site": _text("The name of the campsite."),
            "nights": _whole("The number of nights."),
            "people": _whole("The number of people."),
            "dogs": _whole("The number of dogs. Default is 0."),
        },
        required=("site", "nights", "people"),
        arguments={"site": "Lakeside", "nights": 3, "people": 4},
        thought="The campsite, the nights and the people are given, and no dogs.",
    ),
    CallExemplar(
        question="How many bees does a hive of 12.5 kg hold if one bee weighs 0.1 g?",
        name="count_bees",
        description="Estimate the number of bees in a hive from its weight.",
        properties={
            "hive_kg": _number("The weight of the hive in kilograms."),
            "bee_g": _number("The weight of one bee in grams."),
            "rounded": _flag("Whether to round to thousands. Default is false."),
        },
        required=("hive_kg", "bee_g"),
        arguments={"hive_kg": 12.5, "bee_g": 0.1},
        thought="Both weights are given.",
    ),
    CallExemplar(
        question="Print the poster 'Spring Fair' in A2 and in color, please.",
        name="printer.print_document",
        description="Print a document.",
        properties={
            "title": _text("The title of the document."),
            "size": _text("The size of the paper.", enum=["A2", "A3", "A4"]),
            "color": _flag("Whether to print in color. Default is false."),
            "copies": _whole("The number of copies. Default is 1."),
        },
        required=("title",),
        arguments={"title": "Spring Fair", "size": "A2", "color": True},
        thought="Title, size and color are given, and nothing about copies.",
    ),
    CallExemplar(
        question="Mix red, white and a bit of blue paint for the fence in Uppsala, Sweden.",
        name="mix_paint",
        description="Order a paint that is mixed from several colors.",
        properties={
            "colors": _list("string", "The colors to mix."),
            "place": _text("The town and country of the job, e.g. Oslo, Norway."),
            "liters": _number("How much paint to mix, in liters. Default is 1.0."),
        },
        required=("colors", "place"),
        arguments={"colors": ["red", "white", "blue"], "place": "Uppsala, Sweden"},
        thought="Three colors and the place are given, and no amount.",
    ),
    CallExemplar(
        question="Which of the heights 12, 7, 30 and 18 are above the fence of 15 cm?",
        name="garden.filter_heights",
        description="Find the plants that are higher than a limit.",
        properties={
            "heights": _list("integer", "The heights of the plants in centimeters."),
            "limit": _whole("The limit in centimeters."),
        },
        required=("heights", "limit"),
        arguments={"heights": [12, 7, 30, 18], "limit": 15},
        thought="Four heights and the limit are given.",
    ),
    CallExemplar(
        question="Who won the Dune Rally in 1994, in the class of trucks?",
        name="rally_results.get_winner",
        description="Get the winner of a rally.",
        properties={
            "rally": _text("The name of the rally."),
            "year": _whole("The year of the rally."),
            "vehicle": _text("The class of vehicles: car, bike or truck. Default is 'car'."),
        },
        required=("rally", "year"),
        arguments={"rally": "Dune Rally", "year": 1994, "vehicle": "truck"},
        thought="The rally, the year and the class are given.",
    ),
    CallExemplar(
        question="Set the alarm of the bakery to half past four on 9 May 2021.",
        name="alarm_set",
        description="Set an alarm clock.",
        properties={
            "clock": _text("Which clock to set."),
            "time": _text("The time as HH:MM."),
            "date": _text("The day as YYYY-MM-DD."),
        },
        required=("clock", "time"),
        arguments={"clock": "bakery", "time": "04:30", "date": "2021-05-09"},
        thought="Half past four is 04:30, and the day is 2021-05-09.",
    ),
    CallExemplar(
        question="What does it cost to send a parcel of 2 kg to Tromsø at 6% insurance?",
        name="parcel.price",
        description="Work out the price of a parcel.",
        properties={
            "weight": _whole("The weight in kilograms."),
            "city": _text("The city it goes to."),
            "insurance_rate": _number("The rate of the insurance, as a decimal, e.g. 0.02 for 2%."),
            "unit": _text("The unit of the weight. Default is 'kg'."),
        },
        required=("weight", "city", "insurance_rate"),
        arguments={"weight": 2, "city": "Tromsø", "insurance_rate": 0.06},
        thought="6% is 0.06.",
    ),
    CallExemplar(
        question="Could you look up what the word 'quay' means?",
        name="dictionary_lookup",
        description="Look up a word.",
        properties={"word": _text("The word to look up.")},
        required=("word",),
        arguments={"word": "quay"},
        thought="The word is quay.",
    ),
    CallExemplar(
        question="How high is the tide in Brest, France at 12 o'clock? In meters, please.",
        name="tides.height",
        description="Get the height of the tide.",
        properties={
            "place": _text("The town and country, e.g. Hull, England."),
            "hour": _whole("The hour of the day, from 0 to 23."),
            "unit": _text("The unit of the height.", enum=["feet", "meters"]),
        },
        required=("place", "hour"),
        arguments={"place": "Brest, France", "hour": 12, "unit": "meters"},
        thought="The place has a country, and hour and unit are given.",
    ),
    CallExemplar(
        question="I'd like to hear the song of the wood thrush.",
        name="birds.play_song",
        description="Play the song of a bird.",
        properties={"bird": _text("The name of the bird.")},
        required=("bird",),
        arguments={"bird": "wood thrush"},
        thought="The bird is the wood thrush.",
    ),
    CallExemplar(
        question="Send 'Lunch is ready' to Otto and Ines, and mark it as urgent.",
        name="messenger.send",
        description="Send a message.",
        properties={
            "message": _text("The message."),
            "receivers": _list("string", "Who gets it."),
            "is_urgent": _flag("Whether it is urgent. Default is false."),
            "delay": _whole("Minutes to wait before it is sent. Default is 0."),
        },
        required=("message", "receivers"),
        arguments={"message": "Lunch is ready", "receivers": ["Otto", "Ines"], "is_urgent": True},
        thought="Message and receivers are given, and that it is urgent.",
    ),
)
"""Twelve worked calls: plain ones, ones with one text, ones with lists."""


def choose_exemplars(n: int, tools: Signatures | None = None, style: ArgumentStyle = "keyword") -> tuple[CallExemplar, ...]:
    """The first `n` exemplars; with `tools`, those first that are written as most of the tools are, the closest last."""
    if tools is None:
        return EXEMPLARS[:n]
    wanted = Counter(tool.encoding(style) for tool in tools.values())
    ranked = sorted(EXEMPLARS, key=lambda exemplar: -wanted[exemplar.signature.encoding(style)])
    return tuple(reversed(ranked[:n]))
