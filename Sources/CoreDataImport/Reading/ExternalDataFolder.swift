// ExternalDataFolder: binary values that may lie in files beside the store, told by the first byte of what stands in the column.
import Foundation
import ObjectStore

/// The folder of a store's external values: `.Name_SUPPORT/_EXTERNAL_DATA` beside `Name.sqlite`.
struct ExternalDataFolder {
  /// What stands in a column.
  enum Content: Equatable {
    /// The value, behind a byte 1.
    case inline
    /// The name of a file, behind a byte 2 and before a byte 0.
    case file(String)
    /// Neither mark: the value as it is.
    case unmarked
    /// A mark of a file whose name cannot be one.
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

  /// A file; nil where it is not there. Links are not followed: only the folder's own files belong to the store.
  ///
  /// - Throws: `StoreError` where it is no file, or may not be read.
  func file(_ name: String) throws -> ExternalData? {
    let url = folder.appendingPathComponent(name, isDirectory: false)
    var status = stat()
    guard lstat(url.path, &status) == 0 else {
      let number = errno
      if number == ENOENT || number == ENOTDIR { return nil }
      var error = StoreError(
        .fileOfLargeValue([EACCES, EPERM].contains(number) ? .forbidden : .unreadable), operation: .import, path: url.path)
      error.systemErrorNumber = number
      throw error
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreError(.fileOfLargeValue(.irregular), operation: .import, path: url.path)
    }
    return try ExternalData(contentsOf: url)
  }
}
