package import Foundation
import StoreKeys

/// Reads the file of a large value in chunks of 64 KiB. All bytes that it returns are authenticated. The file can be removed while it is
/// open.
package final class ExternalFileReader {
  /// The size of the value, in bytes.
  package private(set) var count = 0
  private let path: String
  private let cipher: ChunkCipher
  private let descriptor: Int32
  private let chunkCount: Int
  private let lastSize: Int
  private var index = 0
  private var position = 0

  private static let operation: StoreAccessError.Operation = .readLargeValue

  convenience init(path: String, id: Int64, keys: ExternalKeys) throws {
    let descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      let error = StoreAccessError.system(errno, path: path, operation: Self.operation)
      throw error.kind == .noSuchFile ? error.with(kind: .externalDataMissing) : error
    }
    let parts: (cipher: ChunkCipher, count: Int, lastSize: Int)
    do {
      parts = try Self.examine(descriptor, path, id: id, keys: keys)
    } catch {
      _ = Foundation.close(descriptor)
      throw error
    }
    self.init(descriptor: descriptor, path: path, cipher: parts.cipher, chunkCount: parts.count, lastSize: parts.lastSize)
    try readSize()
  }

  private init(descriptor: Int32, path: String, cipher: ChunkCipher, chunkCount: Int, lastSize: Int) {
    self.descriptor = descriptor
    self.path = path
    self.cipher = cipher
    self.chunkCount = chunkCount
    self.lastSize = lastSize
  }

  private static func examine(
    _ descriptor: Int32, _ path: String, id: Int64, keys: ExternalKeys
  ) throws -> (cipher: ChunkCipher, count: Int, lastSize: Int) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StoreAccessError.system(errno, path: path, operation: operation) }
    guard status.st_mode & S_IFMT == S_IFREG,
      let chunks = ExternalFileFormat.chunks(fileSize: Int(status.st_size))
    else { throw damaged(path) }
    let header = try read(descriptor, ExternalFileFormat.headerSize, at: 0, path)
    guard header.prefix(8).elementsEqual(ExternalFileFormat.magic) else { throw damaged(path) }
    let version = UInt16(header[8]) | UInt16(header[9]) << 8
    guard version <= ExternalFileFormat.version else {
      throw StoreAccessError(
        .unsupportedFormat(.largeValue(version: Int(version), known: Int(ExternalFileFormat.version))), path: path,
        operation: operation)
    }
    guard version == ExternalFileFormat.version, header[10] == UInt8(ExternalFileFormat.chunkBits), header[11] == 0 else {
      throw damaged(path)
    }
    let cipher = try ChunkCipher(key: keys.key(id, salt: Array(header[12...])), header: header)
    return (cipher, chunks.count, chunks.lastSize)
  }

  private func readSize() throws {
    let trailer = try chunk(chunkCount - 1).suffix(ExternalFileFormat.trailerSize)
    let size = trailer.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let padded = (chunkCount - 1) * ExternalFileFormat.chunkSize + lastSize
    guard size <= UInt64(padded), ExternalFileFormat.paddedSize(Int(size)) == padded else { throw Self.damaged(path) }
    count = Int(size)
  }

  deinit { _ = Foundation.close(descriptor) }

  /// Returns the next bytes, or `nil` at the end.
  package func next() throws -> Data? {
    guard position < count else { return nil }
    let data = try chunk(index).prefix(count - position)
    index += 1
    position += data.count
    return data
  }

  /// Verifies every chunk, including the padding.
  package func verify() throws {
    for index in 0..<chunkCount { _ = try chunk(index) }
  }

  private func chunk(_ index: Int) throws -> Data {
    let isLast = index == chunkCount - 1
    let size = isLast ? lastSize : ExternalFileFormat.chunkSize
    let whole = ExternalFileFormat.chunkSize + Cryptography.tagSize
    let sealed = try Self.read(descriptor, size + Cryptography.tagSize, at: ExternalFileFormat.headerSize + index * whole, path)
    var data = Data(count: size)
    let isAuthentic = try data.withUnsafeMutableBytes { output in
      try sealed.withUnsafeBytes { try cipher.open($0, index, isLast: isLast, into: output) }
    }
    guard isAuthentic else { throw Self.damaged(path) }
    return data
  }

  private static func read(_ descriptor: Int32, _ count: Int, at offset: Int, _ path: String) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var position = 0
    while position < count {
      let size = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: position), count - position, off_t(offset + position))
      }
      if size < 0 && errno == EINTR { continue }
      // The file was truncated while it was open.
      guard size > 0 else { throw size < 0 ? .system(errno, path: path, operation: operation) : damaged(path) }
      position += size
    }
    return bytes
  }

  private static func damaged(_ path: String) -> StoreAccessError {
    StoreAccessError(.storeCorrupt(.externalFile), path: path, operation: operation)
  }
}
