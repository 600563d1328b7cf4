#include "cli/app.h"

int main(int argc, char** argv) { return sightline::cli::run(argc, argv); }
