// Where the page starts: it picks the source of its numbers and builds the frame.
import { Frame } from './frame.js';
import { RemoteSource } from './source.js';
import { FileSource, isFilePage } from './source_file.js';

new Frame(isFilePage() ? new FileSource() : new RemoteSource()).start();
