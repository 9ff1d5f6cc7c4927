#!/usr/bin/env node
require('../dist/episode.js');
