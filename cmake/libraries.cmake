# A library a layer: attention (tensor, cpu, observe, attention, cache) stands alone; models (ops, format, tokenizer,
# template, model) are built on it, and the engine, with pictures and the page, on those.
include(GNUInstallDirs)
find_package(hwy REQUIRED)
find_package(TBB REQUIRED)

function(sightline_sources out)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE here CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
    list(APPEND found ${here})
  endforeach()
  list(FILTER found EXCLUDE REGEX "_test\\.cc$")
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# A layer that has no source yet still configures, so that every other layer can be built.
function(sightline_library name)
  set(sources ${ARGN})
  if(NOT sources)
    set(sources ${PROJECT_BINARY_DIR}/no_sources.cc)
    file(WRITE ${PROJECT_BINARY_DIR}/no_sources.cc "")
  endif()
  add_library(${name} STATIC ${sources})
endfunction()

# The version has one home, project(); programs and users read it from sightline/version.h.
configure_file(${PROJECT_SOURCE_DIR}/include/sightline/version.h.in ${PROJECT_BINARY_DIR}/include/sightline/version.h
  @ONLY)

# What users of a library see of it: its headers, here or where they are installed. Warnings, definitions and the root
# of the sources are the project's own.
function(sightline_public_headers library)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

sightline_sources(attention_sources src/tensor src/cpu src/observe src/attention src/cache)
sightline_library(sightline_attention ${attention_sources})
add_library(sightline::attention ALIAS sightline_attention)
set_target_properties(sightline_attention PROPERTIES EXPORT_NAME attention)
sightline_public_headers(sightline_attention)
target_compile_features(sightline_attention PUBLIC cxx_std_20)
target_link_libraries(sightline_attention PRIVATE $<BUILD_INTERFACE:sightline_options> hwy::hwy TBB::tbb)

sightline_sources(capi_sources src/capi)
if(SIGHTLINE_SHARED)
  add_library(sightline_c SHARED ${capi_sources})
  # Nothing but the C interface is visible, templates of the standard library included.
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(sightline_c PRIVATE -Wl,--version-script=${exports} -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
    -Wl,-z,text)
  set_target_properties(sightline_c PROPERTIES LINK_DEPENDS ${exports} VERSION ${PROJECT_VERSION} SOVERSION 0)
else()
  add_library(sightline_c STATIC ${capi_sources})
endif()
add_library(sightline::sightline ALIAS sightline_c)
set_target_properties(sightline_c PROPERTIES OUTPUT_NAME sightline EXPORT_NAME sightline CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON)
sightline_public_headers(sightline_c)
target_link_libraries(sightline_c PRIVATE $<BUILD_INTERFACE:sightline_options> sightline_attention)

if(NOT SIGHTLINE_ATTENTION_ONLY)
  find_package(nlohmann_json REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(fmt REQUIRED)
  find_package(ICU REQUIRED COMPONENTS uc i18n)
  find_package(PNG REQUIRED)
  find_package(Freetype REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
  pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

  sightline_sources(model_sources src/ops src/format src/tokenizer src/template src/model src/generation)
  # Of the formats, pictures are the engine's: who runs models needs none of their libraries.
  set(pictures "/src/format/(colour|deflate|font|picture_png|picture_svg|png)\\.cc$")
  set(picture_sources ${model_sources})
  list(FILTER model_sources EXCLUDE REGEX ${pictures})
  list(FILTER picture_sources INCLUDE REGEX ${pictures})
  sightline_library(sightline_model ${model_sources})
  add_library(sightline::model ALIAS sightline_model)
  set_target_properties(sightline_model PROPERTIES EXPORT_NAME model)
  sightline_public_headers(sightline_model)
  target_link_libraries(sightline_model
    PUBLIC sightline_attention $<BUILD_INTERFACE:sightline_options> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
    fmt::fmt
    PRIVATE hwy::hwy ICU::uc ICU::i18n $<BUILD_INTERFACE:PkgConfig::PCRE2> $<INSTALL_INTERFACE:pcre2-8>
    $<BUILD_INTERFACE:PkgConfig::XXHASH> $<INSTALL_INTERFACE:xxhash>)

  sightline_sources(engine_sources src/analysis src/engine)
  # The page as one file: what is in web/, linked into one HTML text.
  set(page_template ${PROJECT_BINARY_DIR}/page_template.cc)
  set(link_page ${PROJECT_SOURCE_DIR}/tools/link_page.py)
  file(GLOB_RECURSE web_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  add_custom_command(OUTPUT ${page_template} COMMAND Python3::Interpreter ${link_page} ${PROJECT_SOURCE_DIR}/web
    ${page_template} DEPENDS ${link_page} ${web_files} VERBATIM)
  sightline_library(sightline_engine ${engine_sources} ${picture_sources} ${page_template})
  target_link_libraries(sightline_engine PUBLIC sightline_model PRIVATE PNG::PNG Freetype::Freetype ZLIB::ZLIB)

  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_package(Threads REQUIRED)
  # With the definitions that the library was compiled with: its structs have other members without them.
  pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
  # The page is part of the program.
  set(web ${PROJECT_SOURCE_DIR}/web)
  set(openapi ${PROJECT_SOURCE_DIR}/serve/openapi.json)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/embed_page.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web}/files.txt)
  file(STRINGS ${web}/files.txt page_files REGEX "^[^#]")
  list(TRANSFORM page_files PREPEND ${web}/)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/page_files.cc VERBATIM
    COMMAND Python3::Interpreter ${embed} ${PROJECT_BINARY_DIR}/page_files.cc ${web} ${openapi}
    DEPENDS ${embed} ${openapi} ${web}/files.txt ${page_files})
  sightline_sources(serve_sources serve)
  add_library(sightline_serve STATIC ${serve_sources} ${PROJECT_BINARY_DIR}/page_files.cc)
  target_link_libraries(sightline_serve PUBLIC sightline_engine PkgConfig::HTTPLIB PRIVATE Threads::Threads)

  sightline_sources(cli_sources cli)
  list(FILTER cli_sources EXCLUDE REGEX "/main\\.cc$")
  sightline_library(sightline_cli ${cli_sources})
  target_link_libraries(sightline_cli PUBLIC sightline_serve CLI11::CLI11)
  if(EXISTS ${PROJECT_SOURCE_DIR}/cli/main.cc)
    add_executable(sightline ${PROJECT_SOURCE_DIR}/cli/main.cc)
    target_link_libraries(sightline PRIVATE sightline_cli)
  endif()

  sightline_sources(conform_sources tools/conform)
  if(conform_sources)
    add_executable(sightline-conform ${conform_sources})
    target_link_libraries(sightline-conform PRIVATE sightline_engine)
  endif()
endif()
