"""A comparison, a citation and a report in the forms that leave the site."""
