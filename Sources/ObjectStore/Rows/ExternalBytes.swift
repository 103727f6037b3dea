// ExternalBytes, ExternalFile: large values that are no store's yet: bytes in memory, and a file.
package import Foundation

/// Bytes in memory.
package struct ExternalBytes: ExternalContent {
  let bytes: Data
  package init(_ bytes: Data) { self.bytes = bytes }
  package var count: Int { bytes.count }
  package func data() -> Data { bytes }

  package func makeReader() -> ExternalDataReader {
    var rest = bytes[...]
    return ExternalDataReader {
      guard !rest.isEmpty else { return nil }
      let piece = Data(rest.prefix(ExternalData.chunkSize))
      rest = rest.dropFirst(piece.count)
      return piece
    }
  }
}

/// A file of the application, read when it is asked for.
struct ExternalFile: ExternalContent {
  let path: String

  init(_ url: URL) throws {
    guard url.isFileURL else {
      throw StoreError(.fileOfLargeValue(.noFileURL), operation: .readFile)
    }
    path = url.path
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw StoreError(.fileOfLargeValue(.missing), operation: .readFile, path: path)
    }
    guard !isFolder.boolValue else { throw StoreError(.fileOfLargeValue(.folder), operation: .readFile, path: path) }
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw StoreError(.fileOfLargeValue(.forbidden), operation: .readFile, path: path)
    }
  }

  var count: Int {
    get throws {
      do {
        return (try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue ?? 0
      } catch { throw Self.failure(error, path) }
    }
  }

  func makeReader() throws -> ExternalDataReader {
    do {
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      return ExternalDataReader { [path] in
        do { return try handle.read(upToCount: ExternalData.chunkSize) } catch { throw Self.failure(error, path) }
      }
    } catch { throw Self.failure(error, path) }
  }

  private static func failure(_ error: any Error, _ path: String) -> StoreError {
    StoreError(.fileOfLargeValue(.unreadable), operation: .readFile, path: path, underlying: error)
  }
}
