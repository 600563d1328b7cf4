#include "src/engine/heads_report.h"

#include <gtest/gtest.h>

#include "src/engine/report_testing.h"
#include "src/engine/why_testing.h"

namespace sightline::engine {
namespace {

TEST(HeadsReport, IsDocumentedFieldByField) {
  const Session& session = testing::decoder();
  HeadsOptions options;
  options.length = 64;
  options.least = 5;
  HeadRoles roles = session.head_roles(options);
  roles.choice.of_map[0] = 0;  // as if the first head had a role
  roles.notes = {"a note"};
  testing::expect_documented("## Roles of heads", testing::fields_of(heads_report(session.model(), roles, options)));
}

}  // namespace
}  // namespace sightline::engine
