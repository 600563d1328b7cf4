#include "src/cpu/target.h"

#include <gtest/gtest.h>

#include <string>

#include "hwy/targets.h"
#include "src/cpu/dispatch.h"

namespace sightline::cpu {
namespace {

// The program, and other libraries in it, may use Highway for themselves.
TEST(Target, LeavesTheProcessItsOwn) {
  const std::int64_t supported = hwy::SupportedTargets();
  const auto index = hwy::GetChosenTarget().GetIndex();
  ensure_target();
  for (const std::string& name : available_targets()) {
    force_target(name);
    EXPECT_EQ(chosen_target(), name);
    EXPECT_EQ(hwy::SupportedTargets(), supported) << name;
    EXPECT_EQ(hwy::GetChosenTarget().GetIndex(), index) << name;
  }
  force_target("");
}

TEST(Target, IsNotThatOfTheProcess) {
  ensure_target();
  const std::string ours = chosen_target();
  const auto index = dispatch_target().GetIndex();
  hwy::GetChosenTarget().Update(HWY_STATIC_TARGET);
  EXPECT_EQ(chosen_target(), ours);
  EXPECT_EQ(dispatch_target().GetIndex(), index);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace sightline::cpu
