#ifndef SIGHTLINE_CLI_STUDY_CHOICES_H_
#define SIGHTLINE_CLI_STUDY_CHOICES_H_

#include <string>

namespace sightline::cli {

/// What `study` asks for beyond the options of other commands.
struct StudyChoices {
  std::string name;  // of the study
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_STUDY_CHOICES_H_
