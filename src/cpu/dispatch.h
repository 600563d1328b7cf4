#ifndef SIGHTLINE_CPU_DISPATCH_H_
#define SIGHTLINE_CPU_DISPATCH_H_

#include "hwy/targets.h"

namespace sightline::cpu {

/// The target in use, chosen at the first call. Throws BadArgument as ensure_target() does.
const hwy::ChosenTarget& dispatch_target();

}  // namespace sightline::cpu

/// As HWY_DYNAMIC_DISPATCH, of what HWY_EXPORT exported, on Sightline's own target: Highway's is of the whole process,
/// where other libraries and the program itself may use it, too.
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define SIGHTLINE_DISPATCH(function) HWY_STATIC_DISPATCH(function)
#else
#define SIGHTLINE_DISPATCH(function) (*(HWY_DISPATCH_TABLE(function)[sightline::cpu::dispatch_target().GetIndex()]))
#endif

#endif  // SIGHTLINE_CPU_DISPATCH_H_
