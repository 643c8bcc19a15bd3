"""Numbering: how addresses of pages name a job by its number."""

from starlette.convertors import IntegerConvertor, register_url_convertor


class _Number(IntegerConvertor):
    """A number that a database can hold; there is no page of any other."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", _Number())
NUMBER = "{number:number}"
