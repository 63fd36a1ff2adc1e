# Server, worker and command line with every extra: browser, documents, media, embeddings, MCP, Postgres, Redis and S3.
#
#   docker build -t sitelore .
#   docker run --rm -v sitelore:/data sitelore crawl https://example.com
#
# All Python packages are pinned by hash (requirements/all.txt). To pin the base image, too:
#   docker build --build-arg BASE=python:3.12-slim-bookworm@sha256:… .
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements/all.txt requirements/all.txt
RUN python -m venv /sitelore && /sitelore/bin/pip install --no-cache-dir --require-hashes -r requirements/all.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY ui ./ui
COPY src ./src
RUN /sitelore/bin/pip install --no-cache-dir --no-deps .

FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium-headless-shell fonts-liberation fonts-noto-cjk \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 sitelore \
 && mkdir /data && chown sitelore /data
COPY --from=build /sitelore /sitelore
ENV PATH=/sitelore/bin:$PATH SITELORE_DATA=/data
USER sitelore
VOLUME /data
EXPOSE 8080
HEALTHCHECK --start-period=20s --interval=10s --timeout=5s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["sitelore"]
CMD ["serve", "--host", "0.0.0.0"]
