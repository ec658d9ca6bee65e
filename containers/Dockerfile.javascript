# The image of 'javascript' for the backend docker: sandbox images build javascript
# What the base has already is not installed again, so that one made locally needs no network.
ARG BASE=debian:bookworm-20240612-slim
FROM $BASE
ARG PACKAGES=yes
RUN command -v node >/dev/null 2>&1 || \
    { apt-get update && apt-get install -y --no-install-recommends nodejs npm && rm -rf /var/lib/apt/lists/*; }
COPY package.json /usr/share/sandbox/package.json
ENV NODE_PATH=/usr/share/sandbox/node_modules
RUN test "$PACKAGES" != yes || npm install --prefix /usr/share/sandbox --omit=dev --no-audit --no-fund
USER 65533:65533
