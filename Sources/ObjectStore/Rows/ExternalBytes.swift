package import Foundation

/// A large value held in memory.
package struct ExternalBytes: ExternalContent {
  let bytes: Data
  package init(_ bytes: Data) { self.bytes = bytes }
  package var count: Int { bytes.count }
  package func data() -> Data { bytes }

  package func makeReader() -> ExternalDataReader {
    var rest = bytes[...]
    return ExternalDataReader {
      guard !rest.isEmpty else { return nil }
      let chunk = Data(rest.prefix(ExternalData.chunkSize))
      rest = rest.dropFirst(chunk.count)
      return chunk
    }
  }
}

/// A large value in a file of the application, read on demand.
struct ExternalFile: ExternalContent {
  let path: String

  init(_ url: URL) throws {
    guard url.isFileURL else {
      throw StoreError(.largeValueWithoutFileURL, operation: .readFile)
    }
    path = url.path
    var status = stat()
    guard stat(path, &status) == 0 else { throw Self.failure(ofSystem: errno, path) }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw StoreError(.largeValueIsFolder, operation: .readFile, path: path) }
    guard access(path, R_OK) == 0 else { throw Self.failure(ofSystem: errno, path) }
  }

  private static func failure(ofSystem number: Int32, _ path: String) -> StoreError {
    let reason: StoreError.Reason =
      switch number {
      case ENOENT, ENOTDIR: .largeValueMissing
      case EACCES, EPERM: .largeValueForbidden
      default: .largeValueUnreadable
      }
    var error = StoreError(
      reason, operation: .readFile, path: path, underlying: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
    error.systemErrorNumber = number
    return error
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
    StoreError(.largeValueUnreadable, operation: .readFile, path: path, underlying: error)
  }
}
