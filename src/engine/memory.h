#ifndef SIGHTLINE_ENGINE_MEMORY_H_
#define SIGHTLINE_ENGINE_MEMORY_H_

#include <new>

#include "sightline/error.h"

namespace sightline::engine {

/// What to do where memory ran out.
inline constexpr char kNoMemoryForModel[] = "no memory to open the model: free some, or take a smaller model";
inline constexpr char kNoMemoryForText[] = "no memory to look at the text: give a shorter one, or take a smaller model";
inline constexpr char kNoMemoryForGeneration[] =
    "no memory for the generation: make the context smaller (-c), or take a smaller model";
inline constexpr char kNoMemoryForScore[] =
    "no memory to score the text: make the context smaller (-c), or take a smaller model";
inline constexpr char kNoMemoryForBench[] =
    "no memory to measure the model: measure fewer tokens (-p, -n, -d), or take a smaller model";
inline constexpr char kNoMemoryForStudy[] =
    "no memory for the study: measure shorter lengths (--max), or take a smaller model";
inline constexpr char kNoMemoryForState[] = "no memory to save the state: make the context smaller (-c)";
inline constexpr char kNoMemoryForReport[] = "no memory for the report: give a shorter text, or ask for fewer maps";
inline constexpr char kNoMemoryForMap[] = "no memory for the map: give a shorter text, or ask for a part of the map";

/// Runs a step of the engine; the standard library's std::bad_alloc leaves it as OutOfMemory with `message`.
template <class Step>
auto within_memory(const char* message, const Step& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(message);
  }
}

}  // namespace sightline::engine

#endif  // SIGHTLINE_ENGINE_MEMORY_H_
