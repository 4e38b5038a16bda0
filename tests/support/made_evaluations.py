"""Evaluations made up from records, for what is derived from them: no model is asked, every figure is known."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.crag.grading import graded, unscored
from localcrag.crag.refine.strips import split_into_strips
from localcrag.evaluation.plan import FULL, PLAIN
from localcrag.evaluation.results import About, Evaluation, SetUsed
from localcrag.records.enums import Action, Backing, Origin, Policy, StripMode, StripReason
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import Evidence, GradedPassage, Passage, Source, Strip, Thresholds
from localcrag.records.run import RetrievalAttempt, Run, StepCost, Support, WebResult, WebUse

LIMITS = Thresholds(upper=0.5, lower=0.2, strip=0.3)
HOSTILE = "<script>document.title = 'taken'</script><img src=http://192.0.2.1/x.png onerror=alert(1)> | `x` *b*"


def question(
    name: str, held_by: AnswerLocation, *answers: str, documents: Sequence[str] = (), text: str = ""
) -> Question:
    """Return a question; its text says its name where none is given."""
    web = (WebResult("page", "http://example.org/x", f"It is {answers[0]}."),) if held_by is AnswerLocation.WEB else ()
    return Question(
        id=name,
        question=text or f"What is {name}?",
        held_by=held_by,
        answers=answers,
        documents=tuple(documents),
        web=web,
    )


def passage(name: str, text: str, relevance: float, *, document: str | None = "a.md") -> GradedPassage:
    """Return a graded passage of a document; of the web without one."""
    found = Passage(
        id=name,
        origin=Origin.LOCAL if document else Origin.WEB,
        text=text,
        document=document,
        url=None if document else "http://example.org/x",
        title=None if document else "A page",
        cosine=0.5,
    )
    return graded(found, logit=0.0, relevance=relevance, thresholds=LIMITS)


def sentence(text: str, backing: Backing = Backing.SUPPORTED, *, shown: bool = True, why: str = "") -> Support:
    """Return a judged sentence of an answer that cites the first piece of evidence."""
    return Support(text, backing is Backing.SUPPORTED, (1,), 0.9, backing, why, shown=shown)


def run(
    asked: Question,
    passages: Sequence[GradedPassage],
    answer: str,
    *,
    action: Action | None,
    abstained: bool = False,
    uncertain: bool = False,
    dropped: str | None = None,
    support: Sequence[Support] = (),
    seconds: float = 1.0,
    web: WebUse | None = None,
) -> Run:
    """Return a run as the flow would have made it: without an action plain RAG's, with everything taken whole.

    Strips with `dropped` in them are not kept; what follows from action and grades is left out.
    """
    if action is None:
        passages = unscored(passages, thresholds=LIMITS)
    used = [
        one
        for one in passages
        if action is None
        or (one.relevance >= LIMITS.lower and (one.origin is Origin.WEB or action is not Action.INCORRECT))
    ]
    strips = [strip for one in used for strip in (_whole(one) if action is None else _strips(one, dropped))]
    sources = {one.id: _source(one) for one in used}
    evidence: list[Evidence] = []
    for one in used:
        if text := " ".join(strip.text for strip in strips if strip.passage == one.id and strip.kept):
            evidence.append(Evidence(len(evidence) + 1, text, one.id, sources[one.id].id, one.relevance))
    best = max((one.relevance for one in passages), default=None)
    rule = f"best passage {best:.2f}" if action and best is not None else ""
    return Run(
        run_id=f"run-{asked.id}",
        created_at="2026-01-02T03:04:05+00:00",
        collection="made",
        question=asked.question,
        standalone_question=asked.question,
        action=action,
        policy=Policy.MAX,
        rule=rule,
        attempts=(RetrievalAttempt(asked.question, action, rule, len(passages), best),) if action else (),
        thresholds=LIMITS,
        answer=answer,
        abstained=abstained,
        uncertain=uncertain,
        sources=tuple(sources.values()),
        passages=tuple(passages),
        max_relevance=best,
        strips=tuple(strips),
        evidence=tuple(evidence),
        web=web or WebUse(),
        support=tuple(support),
        steps=(
            StepCost("retrieve", 0.1 * seconds),
            StepCost("evaluate", 0.2 * seconds),
            StepCost("generate", 0.7 * seconds, 1, 100 if action else 400, 20),
        ),
        settings={"relevance_threshold": 0.6},
    )


def _whole(one: GradedPassage) -> list[Strip]:
    return [Strip(one.id, 0, len(one.text), one.text, 0.0, one.relevance, kept=True, reason=StripReason.WHOLE)]


def _strips(one: GradedPassage, dropped: str | None) -> list[Strip]:
    found = []
    for span in split_into_strips(one.text, StripMode.SENTENCE, window_words=40):
        kept = dropped is None or dropped not in span.text
        reason = StripReason.KEPT if kept else StripReason.BELOW
        found.append(Strip(one.id, span.start, span.end, span.text, 0.0, 0.9 if kept else 0.1, kept, reason))
    return found


def _source(one: GradedPassage) -> Source:
    return Source(f"s-{one.id}", one.origin, one.document, one.page, one.url, one.title)


def evaluation(
    questions: Sequence[Question], runs: dict[str, dict[str, Run]], *, warnings: Sequence[str] = (), name: str = "made"
) -> Evaluation:
    """Return an evaluation of these runs, by configuration and question."""
    about = About(
        id=name,
        created_at="2026-01-02T03:04:05+00:00",
        version="0.1.0",
        code="0123456789abcdef",
        sets=(SetUsed("made", "ab" * 32, len(questions), 3),),
        configurations={configuration: {} for configuration in runs},
        models={"embedder": "e", "relevance": "r", "llm": "l"},
        settings={"k": 6, "upper": None},
        warnings=tuple(warnings),
    )
    return Evaluation(about, tuple(questions), runs)


ASKED = (
    question("right", AnswerLocation.DOCUMENTS, "42", documents=["a.md"], text="How many litres?"),
    question("gold", AnswerLocation.DOCUMENTS, "5 May 1990 in Gdynia", documents=["a.md"]),
    question("retrieval", AnswerLocation.DOCUMENTS, "42", documents=["b.md"]),
    question("evaluator", AnswerLocation.DOCUMENTS, "42", documents=["a.md"]),
    question("strip", AnswerLocation.DOCUMENTS, "42", documents=["a.md"]),
    question("generator", AnswerLocation.DOCUMENTS, "42", documents=["a.md"], text=f"What is {HOSTILE}?"),
    question("verify", AnswerLocation.DOCUMENTS, "42", documents=["a.md"]),
    question("abstained", AnswerLocation.DOCUMENTS, "42", documents=["a.md"]),
    question("web", AnswerLocation.WEB, "42"),
    question("web-right", AnswerLocation.WEB, "42"),
    question("invented", AnswerLocation.NOWHERE),
    question("misjudged", AnswerLocation.NOWHERE),
    question("silent", AnswerLocation.NOWHERE),
)
"""A question for each thing that can go wrong, by its name, and three that go right."""

HOLDS = "The tank is round. It holds 42 litres. It is green."
BESIDE = "The tank is old. It was painted."


def varied() -> Evaluation:
    """Return an evaluation of ASKED: plain RAG answers everything from whole passages, localcrag as the names say."""
    by_name = {one.id: one for one in ASKED}
    good, beside = passage("p1", HOLDS, 0.9), passage("p2", BESIDE, 0.3)
    low = passage("p1", HOLDS, 0.1)
    from_web = passage("w1", "It is 42.", 0.8, document=None)
    nothing_on_web = passage("w1", "It is a page.", 0.4, document=None)
    asked_web = WebUse(used=True, query="tank", results=(WebResult("A page", "http://example.org/x", "It is 42."),))
    full = {
        "right": run(by_name["right"], [good, beside], "It holds 42 litres [1].", action=Action.CORRECT,
                     support=[sentence("It holds 42 litres.")], seconds=2.0),
        "gold": run(by_name["gold"], [beside], "May 5, 1990, Gdynia [1].", action=Action.CORRECT,
                    support=[sentence("May 5, 1990, Gdynia.")]),
        "retrieval": run(by_name["retrieval"], [beside], "It is old [1].", action=Action.AMBIGUOUS,
                         support=[sentence("It is old.")], web=asked_web),
        "evaluator": run(by_name["evaluator"], [low], "Your documents do not answer this question.",
                         action=Action.INCORRECT, abstained=True),
        "strip": run(by_name["strip"], [good], "It is green [1].", action=Action.CORRECT, dropped="42",
                     support=[sentence("It is green.")]),
        "generator": run(by_name["generator"], [good, passage("p3", HOSTILE, 0.6, document="<b>evil</b>.md")],
                         f"It is green [1]. {HOSTILE}", action=Action.CORRECT,
                         support=[sentence("It is green.", Backing.PARTLY)]),
        "verify": run(by_name["verify"], [good], "It is green [1].", action=Action.CORRECT,
                      support=[sentence("It holds 42 barrels.", Backing.NOT, shown=False, why="another unit"),
                               sentence("It is green.")]),
        "abstained": run(by_name["abstained"], [good], "Your documents do not say this outright.",
                         action=Action.CORRECT, abstained=True),
        "web": run(by_name["web"], [beside, nothing_on_web], "It is a page [1].", action=Action.AMBIGUOUS,
                   support=[sentence("It is a page.")], web=asked_web),
        "web-right": run(by_name["web-right"], [low, from_web], "It is 42 [1].", action=Action.INCORRECT,
                         support=[sentence("It is 42.")], web=asked_web),
        "invented": run(by_name["invented"], [beside], "It is old [1].", action=Action.AMBIGUOUS,
                        support=[sentence("It is old.", Backing.PARTLY)]),
        "misjudged": run(by_name["misjudged"], [good], "It holds 42 litres [1].", action=Action.CORRECT,
                         support=[sentence("It holds 42 litres.")]),
        "silent": run(by_name["silent"], [low], "Your documents do not answer this question.",
                      action=Action.INCORRECT, abstained=True),
    }  # fmt: skip
    plain = {
        one.id: run(one, [good, beside], "It is round." if one.id in ("web", "right") else "It holds 42 litres.",
                    action=None, seconds=4.0)
        for one in ASKED
    }  # fmt: skip
    return evaluation(ASKED, {PLAIN: plain, FULL: full}, warnings=[f"Most questions do not look English. {HOSTILE}"])
