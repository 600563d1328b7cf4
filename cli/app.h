#ifndef SIGHTLINE_CLI_APP_H_
#define SIGHTLINE_CLI_APP_H_

namespace sightline::cli {

/// The whole program. Returns the exit status: 0, 1 for errors, 2 for wrong usage, 128 + signal when stopped by one.
int run(int argc, char** argv);

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_APP_H_
