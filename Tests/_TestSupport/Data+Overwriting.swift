public import Foundation

extension Data {
  /// Overwrites a file in place, as `cp` does: the file keeps its identity and its creation time.
  public func overwrite(_ url: URL) throws {
    let handle = try FileHandle(forWritingTo: url)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: self)
    try handle.close()
  }
}
