FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
COPY ui ./ui
COPY requirements ./requirements
RUN python -m venv /sitelore \
 && /sitelore/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt \
 && /sitelore/bin/pip install --no-cache-dir '.[scaled]'

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 sitelore
COPY --from=build /sitelore /sitelore
ENV PATH=/sitelore/bin:$PATH SITELORE_DATA=/data
RUN mkdir /data && chown sitelore /data
USER sitelore
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["sitelore"]
CMD ["serve", "--host", "0.0.0.0"]
