"""Send the spool once, for a person who waits: progress, the outcome, an exit code."""

from agents import exits
from agents.client import Client
from agents.console import Console
from agents.home import Enrolment
from agents.sending import Delivery, deliver
from agents.spool import Spool


def deliver_and_say(enrolment: Enrolment, spool: Spool, console: Console) -> int:
    """Send all that waits; say what is on the server, what is not, and what to do."""
    client = Client(enrolment.server, enrolment.token)
    delivery = deliver(spool, client, console.progress)
    if delivery.sent:
        console.say("%s on the server." % runs(delivery.sent, "is", "are"))
    if delivery.rejected:
        refused = runs(delivery.rejected, "was", "were")
        console.complain("%s refused; see: spool rejected" % refused)
    if delivery.trouble:
        waiting = runs(delivery.left, "waits", "wait")
        console.complain("%s in the spool: %s" % (waiting, delivery.trouble))
    return exit_code(delivery)


def exit_code(delivery: Delivery) -> int:
    """Return what a script should know."""
    if delivery.rejected or delivery.token_refused:
        return exits.REFUSED
    return exits.LATER if delivery.trouble else exits.DONE


def runs(number: int, singular: str, plural: str) -> str:
    """Return "1 run is" or "2 runs are"."""
    return "1 run " + singular if number == 1 else "%d runs %s" % (number, plural)
