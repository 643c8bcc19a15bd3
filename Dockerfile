# recveil in a container: docker build -t recveil . && docker run --rm recveil
# A verb on files of yours, which need to be readable by the container's user:
#   docker run --rm --volume "$PWD:/data" --user "$(id -u):$(id -g)" recveil audit ratings.csv
FROM python:3.13-slim

COPY pyproject.toml constraints.txt README.md CHANGELOG.md SECURITY.md LICENSE /source/
COPY src /source/src
RUN python -m pip install --no-cache-dir --constraint /source/constraints.txt /source \
    && rm -r /source \
    && useradd --create-home --uid 1000 recveil \
    && install --directory --owner recveil /data

USER 1000
WORKDIR /data
ENTRYPOINT ["recveil"]
CMD ["demo", "--force"]
