#ifndef SIGHTLINE_SERVE_PAGE_H_
#define SIGHTLINE_SERVE_PAGE_H_

#include <span>
#include <string_view>

namespace sightline::serve {

/// A file of the page, as it lies in the program. cmake/embed_page.py writes them.
struct PageFile {
  std::string_view path;     // below web/: "css/frame.css"
  std::string_view type;     // of content
  std::string_view tag;      // changes with the content
  std::string_view content;  // as it is
  std::string_view gzip;     // empty where it would not be smaller
};

/// What web/files.txt lists, in that order.
std::span<const PageFile> page_files();

/// serve/openapi.json.
const PageFile& openapi_file();

}  // namespace sightline::serve

#endif  // SIGHTLINE_SERVE_PAGE_H_
