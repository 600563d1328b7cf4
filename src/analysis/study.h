#ifndef SIGHTLINE_ANALYSIS_STUDY_H_
#define SIGHTLINE_ANALYSIS_STUDY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sightline::analysis {

/// A column of numbers. NaN: there is none in that row.
struct Column {
  std::string key;        // in JSON: "entropy_scaled"
  std::string heading;    // in a table: "entropy, scaled"
  std::string unit = {};  // "nats", "ms"; empty: none
  int digits = 3;         // after the point, in a table; below 0: as many significant ones
  bool timed = false;     // differs from run to run
  std::vector<double> values = {};
};

/// Rows of numbers under headings, or with `labels` of a name each ("window 1024").
struct Table {
  std::string key;    // in JSON
  std::string title;  // a line above
  std::vector<std::string> labels = {};
  std::vector<Column> columns = {};
};

/// A single number that a study comes to.
struct Figure {
  std::string key, name, unit;
  double value = 0;
  int digits = 3;
  bool timed = false;
};

struct ChartSeries {
  std::string name;
  std::vector<double> x, y;  // what is not finite is left out
  bool baseline = false;     // what the others are held against, and drawn apart from them
};

struct ChartAxis {
  std::string title;
  bool logarithmic = false;
  bool numbered = false;  // whole numbers that stand for things, as layers: 0 is none of them
};

/// Lines over a common axis, to be drawn.
struct Chart {
  std::string title;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
};

/// What a claim came to when it was measured.
struct Study {
  std::string name;                   // "scale"
  std::string claim;                  // the sentence that was put to the test
  std::vector<std::string> settings;  // what was measured, and on what: lines
  std::vector<Table> tables;
  std::vector<Figure> figures;
  std::vector<Chart> charts;
  std::vector<std::string> notes;  // what it does not show, what was left out: lines
  bool complete = true;            // false: it was stopped, and this is what was done
};

}  // namespace sightline::analysis

#endif  // SIGHTLINE_ANALYSIS_STUDY_H_
