# The image of 'go' for the backend docker: sandbox images build go
# What the base has already is not installed again, so that one made locally needs no network.
ARG BASE=debian:bookworm-20240612-slim
FROM $BASE
ARG PACKAGES=yes
RUN command -v go >/dev/null 2>&1 || \
    { apt-get update && apt-get install -y --no-install-recommends golang-go && rm -rf /var/lib/apt/lists/*; }
USER 65533:65533
