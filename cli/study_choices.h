#ifndef SIGHTLINE_CLI_STUDY_CHOICES_H_
#define SIGHTLINE_CLI_STUDY_CHOICES_H_

#include <cstdint>
#include <string>

namespace sightline::cli {

/// What `study` asks for beyond the options of other commands.
struct StudyChoices {
  std::string name;          // empty: list them
  std::int64_t longest = 0;  // tokens; 0: the study's own choice
  int repetitions = 0;       // 0: the study's own choice
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_STUDY_CHOICES_H_
