#ifndef SIGHTLINE_ENGINE_REPORT_TESTING_H_
#define SIGHTLINE_ENGINE_REPORT_TESTING_H_

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "src/engine/report.h"
#include "src/engine/testing.h"

namespace sightline::engine::testing {

/// Every place in a JSON value, with [] for the items of a list: "maps[].row.entropy[]".
inline void collect_fields(const ReportJson& json, const std::string& path, std::set<std::string>& fields) {
  if (json.is_object()) {
    if (!path.empty()) fields.insert(path);
    for (const auto& [name, value] : json.items()) {
      collect_fields(value, path.empty() ? name : path + "." + name, fields);
    }
  } else if (json.is_array()) {
    fields.insert(path + "[]");
    for (const ReportJson& item : json) collect_fields(item, path + "[]", fields);
  } else {
    fields.insert(path);
  }
}

/// The same without what is said by a longer one. A list of lists is one field: "offset_mass[][]" stands for
/// "offset_mass[]" too.
inline std::set<std::string> fields_of(const ReportJson& json) {
  std::set<std::string> fields, kept;
  collect_fields(json, "", fields);
  for (const std::string& field : fields) {
    if (!fields.count(field + "[]")) kept.insert(field);
  }
  return kept;
}

/// The first column of the tables of docs/report.md under a heading ("## Fields").
inline std::set<std::string> documented_fields(const std::string& heading) {
  std::ifstream file(source_path("docs/report.md"));
  std::set<std::string> fields;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == heading;
    if (!inside || !line.starts_with("| `")) continue;
    fields.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return fields;
}

/// Holds a kind of report to the tables under its heading: every field that was written is there, and every field there
/// was written. What stands in `model` is the report's to tell.
inline void expect_documented(const std::string& heading, std::set<std::string> written) {
  const std::set<std::string> documented = documented_fields(heading);
  std::erase_if(written, [](const std::string& field) { return field.starts_with("model."); });
  ASSERT_GT(documented.size(), 20u) << heading;
  for (const std::string& field : written) {
    EXPECT_TRUE(documented.count(field)) << field << " is not in docs/report.md: " << heading;
  }
  for (const std::string& field : documented) {
    EXPECT_TRUE(written.count(field)) << field << " is in docs/report.md, not in the report: " << heading;
  }
}

}  // namespace sightline::engine::testing

#endif  // SIGHTLINE_ENGINE_REPORT_TESTING_H_
