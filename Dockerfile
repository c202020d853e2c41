# The image of a release. `.ci/publish image` gives it the files of the npm package as its context; nothing is run, so that
# it is built for every platform without an emulator.
FROM node:26-alpine
COPY . /
USER node
ENTRYPOINT ["wfr"]
