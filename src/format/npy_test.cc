#include "src/format/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "src/format/testing.h"

namespace sightline::format {
namespace {

// Rows of an array, written one by one.
std::string written(const std::vector<std::int64_t>& shape, const std::vector<std::vector<float>>& pieces) {
  const TestDirectory directory;
  NpyWriter writer(directory / "a.npy", shape);
  for (const auto& piece : pieces) writer.write(piece);
  EXPECT_FALSE(std::filesystem::exists(directory / "a.npy"));
  writer.finish();
  return content_of(directory / "a.npy");
}

TEST(NpyWriter, WritesTheBytesThatNumpyWrites) {
  // numpy.save of numpy.array([[1, 2, 3], [4, 5, -0.5]], dtype="<f4"): a header of 118 bytes, so that data begin at
  // byte 128.
  std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  const float values[] = {1, 2, 3, 4, 5, -0.5f};
  expected.append(reinterpret_cast<const char*>(values), sizeof(values));
  EXPECT_EQ(written({2, 3}, {{1, 2, 3}, {4, 5, -0.5f}}), expected);
  EXPECT_EQ(written({2, 3}, {{1}, {}, {2, 3, 4, 5, -0.5f}}), expected);
}

TEST(NpyWriter, SpellsShapesAsPythonTuples) {
  EXPECT_NE(written({}, {{7}}).find("'shape': (), }"), std::string::npos);
  EXPECT_NE(written({1}, {{7}}).find("'shape': (1,), }"), std::string::npos);
  EXPECT_NE(written({2, 0, 4}, {}).find("'shape': (2, 0, 4), }"), std::string::npos);
}

TEST(NpyWriter, AlignsTheDataWhateverTheShape) {
  std::vector<std::int64_t> shape;
  for (int axes = 0; axes < 40; ++axes, shape.push_back(1)) {
    const std::string bytes = written(shape, {{7}});
    std::uint16_t length;
    std::memcpy(&length, bytes.data() + 8, 2);
    EXPECT_EQ((10u + length) % 64, 0u) << axes;
    EXPECT_EQ(bytes[9u + length], '\n');
    EXPECT_EQ(bytes.size(), 10u + length + 4u);
  }
}

TEST(NpyWriter, RefusesWhatDoesNotFitTheShape) {
  const TestDirectory directory;
  const auto path = directory / "a.npy";
  const std::vector<std::int64_t> shape = {2, 2};
  const std::vector<float> row = {1, 2};
  {
    NpyWriter writer(path, shape);
    writer.write(row);
    EXPECT_EQ(error_of<BadArgument>([&] { writer.finish(); }), "npy: 2 elements were not written");
    writer.write(row);
    EXPECT_NE(error_of<BadArgument>([&] { writer.write(row); }).find("more elements"), std::string::npos);
  }
  for (const std::vector<std::int64_t>& bad : {std::vector<std::int64_t>{-1}, {INT64_MAX, 4}}) {
    error_of<BadArgument>([&] { NpyWriter writer(path, bad); });
  }
  EXPECT_EQ(directory.file_count(), 0u);
}

TEST(NpyWriter, ReportsAFullDisk) {
  EXPECT_NE(error_of<BadFile>([] { NpyWriter("/dev/full", {}); }).find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace sightline::format
