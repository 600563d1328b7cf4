#ifndef SIGHTLINE_CLI_CHART_AXIS_H_
#define SIGHTLINE_CLI_CHART_AXIS_H_

#include <string>
#include <vector>

namespace sightline::cli {

/// A value that an axis names.
struct Tick {
  double value = 0;
  std::string text;
};

/// An axis over values: where each lies, and which round ones are named.
class AxisScale {
 public:
  /// `values` that holds() refuses are not looked at. With none left the axis runs from 0 to 1 (logarithmic: from 1 to
  /// 10).
  /// `numbered`: from the least whole number to the largest, each or every few of them named.
  AxisScale(const std::vector<double>& values, bool logarithmic, bool numbered = false);

  /// What has a place: a finite number, and above 0 on a logarithmic axis.
  bool holds(double value) const;
  /// Share of the axis that lies below `value`, 0..1 for those that it was made from.
  double place(double value) const;
  /// Ascending, each on the axis.
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void set_linear(double low, double high);
  void set_numbered(double low, double high);
  void set_logarithmic(const std::vector<double>& held, double low, double high);

  bool logarithmic_;
  double begin_ = 0, end_ = 1;  // of the axis; logarithms where it is logarithmic
  std::vector<Tick> ticks_;
};

}  // namespace sightline::cli

#endif  // SIGHTLINE_CLI_CHART_AXIS_H_
