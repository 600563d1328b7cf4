// Where the page starts: it picks the source of its numbers and builds the frame.
import { Frame } from './frame.js';
import { RemoteSource } from './source.js';

new Frame(new RemoteSource()).start();
