"""Send the spool once, for a person who waits: progress, the outcome, an exit code."""

from agents import exits
from agents.client import Client
from agents.console import Console
from agents.home import Enrolment
from agents.sending import Delivery, deliver
from agents.spool import Spool


def deliver_and_say(
    enrolment: Enrolment, spool: Spool, console: Console, noun: str = "run"
) -> int:
    """Send all that waits; say what is on the server, what is not, and what to do."""
    client = Client(enrolment.server, enrolment.token)
    delivery = deliver(spool, client, console.progress)
    if delivery.sent:
        console.say("%s on the server." % counted(delivery.sent, noun, "is", "are"))
    if delivery.rejected:
        refused = counted(delivery.rejected, noun, "was", "were")
        console.complain("%s refused; see: spool rejected" % refused)
    if delivery.trouble:
        waiting = counted(delivery.left, noun, "waits", "wait")
        console.complain("%s in the spool: %s" % (waiting, delivery.trouble))
    return exit_code(delivery)


def exit_code(delivery: Delivery) -> int:
    """Return what a script should know."""
    if delivery.rejected or delivery.token_refused:
        return exits.REFUSED
    return exits.LATER if delivery.trouble else exits.DONE


def runs(number: int, singular: str, plural: str) -> str:
    """Return "1 run is" or "2 runs are"."""
    return counted(number, "run", singular, plural)


def counted(number: int, noun: str, singular: str, plural: str) -> str:
    """Return "1 piece is" or "2 pieces are"."""
    if number == 1:
        return "1 %s %s" % (noun, singular)
    return "%d %ss %s" % (number, noun, plural)
