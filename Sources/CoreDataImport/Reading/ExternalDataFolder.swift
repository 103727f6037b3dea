import Foundation
import ObjectStore

/// The folder of a store's external binary values: `.Name_SUPPORT/_EXTERNAL_DATA` next to `Name.sqlite`. The first byte in the column
/// indicates whether a value is external.
struct ExternalDataFolder {
  /// The content of a column.
  enum Content: Equatable {
    /// The value follows a byte 1.
    case inline
    /// The name of a file, between a byte 2 and a byte 0.
    case file(String)
    /// The value, without a marker.
    case unmarked
    /// The marker of a file, with an invalid file name.
    case malformed
  }

  let folder: URL

  init(store url: URL) {
    let name = url.deletingPathExtension().lastPathComponent
    folder = url.deletingLastPathComponent().appendingPathComponent(".\(name)_SUPPORT/_EXTERNAL_DATA", isDirectory: true)
  }

  static func content(_ bytes: UnsafeRawBufferPointer) -> Content {
    switch bytes.first {
    case 1: return .inline
    case 2:
      let name = bytes.dropFirst().prefix { $0 != 0 }
      guard name.count == bytes.count - 1 || name.count == bytes.count - 2, (1...255).contains(name.count),
        let text = String(validating: name, as: UTF8.self), !text.contains("/"), text != ".", text != ".."
      else { return .malformed }
      return .file(text)
    default: return .unmarked
    }
  }

  /// Returns a file; nil if it does not exist. Symbolic links are not followed: only files in the folder itself belong to the store.
  ///
  /// - Throws: `StoreError` if it is not a regular file, or cannot be read.
  func file(_ name: String) throws -> ExternalData? {
    let url = folder.appendingPathComponent(name, isDirectory: false)
    var status = stat()
    guard lstat(url.path, &status) == 0 else {
      let number = errno
      if number == ENOENT || number == ENOTDIR { return nil }
      var error = StoreError(
        [EACCES, EPERM].contains(number) ? .largeValueForbidden : .largeValueUnreadable, operation: .import, path: url.path)
      error.systemErrorNumber = number
      throw error
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.largeValueIrregular, operation: .import, path: url.path)
    }
    return try ExternalData(contentsOf: url)
  }
}

extension StoreError.Reason {
  fileprivate static var largeValueIrregular: Self { Self(.io, "The file of a large value is not a regular file.") }
}
