import Foundation

/// The programs that are built with the tests.
enum TestProgram {
  private final class Marker {}

  /// Returns the location of a program next to the tests.
  static func url(of name: String) throws -> URL {
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let candidates = [folder, Bundle(for: Marker.self).bundleURL.deletingLastPathComponent()].map { $0.appendingPathComponent(name) }
    guard let program = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
      throw TortureError.noProgram(name)
    }
    return program
  }
}
