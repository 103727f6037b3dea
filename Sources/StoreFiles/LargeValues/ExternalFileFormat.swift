package import Foundation
package import StoreKeys

/// The layout of the file of a large value. `Documentation/FileFormat.md` describes it.
enum ExternalFileFormat {
  static let magic = Array("CipherDX".utf8)
  static let version: UInt16 = 1
  static let chunkBits = 16
  static let chunkSize = 1 << chunkBits
  static let saltSize = 32
  static let headerSize = 8 + 2 + 1 + 1 + saltSize
  /// The size of the field with the actual size, at the end of the padded content.
  static let trailerSize = 8
  /// The minimum padded size. Smaller values cannot be distinguished by their file sizes.
  static let minimumPaddedSize = 4096

  static func header(salt: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(magic)
    writer.append(version)
    writer.append(UInt8(chunkBits))
    writer.append(UInt8(0))
    writer.append(salt)
    return writer.bytes
  }

  /// Returns the size to which content and trailer are padded by the PADMÉ scheme. It reveals only the magnitude and a few bits of the
  /// size, and adds at most 12 %.
  static func paddedSize(_ count: Int) -> Int {
    let size = max(count + trailerSize, minimumPaddedSize)
    let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
    let kept = Int.bitWidth - exponent.leadingZeroBitCount
    let mask = (1 << (exponent - kept)) - 1
    return (size + mask) & ~mask
  }

  /// Returns the number of chunks in a file, and the size of the last chunk's content, or `nil` if the file size is not possible.
  static func chunks(fileSize: Int) -> (count: Int, lastSize: Int)? {
    let body = fileSize - headerSize
    let whole = chunkSize + Cryptography.tagSize
    guard body > 0 else { return nil }
    let rest = body % whole
    if rest == 0 { return (body / whole, chunkSize) }
    let lastSize = rest - Cryptography.tagSize
    return lastSize >= trailerSize ? (body / whole + 1, lastSize) : nil
  }
}

/// The keys and names of the files of large values, derived from the store's data key and salt. A new data key changes all of them.
package struct ExternalKeys: Sendable {
  private let names: SecretBytes
  private let contents: SecretBytes

  package init(_ key: DatabaseKey) throws {
    let root = try Cryptography.derivedKey(from: key.key, purpose: "CipherData external data", context: key.salt)
    names = try Cryptography.derivedKey(from: root, purpose: "CipherData external names")
    contents = try Cryptography.derivedKey(from: root, purpose: "CipherData external contents")
  }

  /// Returns the name of a value's file: 32 hexadecimal digits that reveal nothing without the key.
  package func name(_ id: Int64) throws -> String {
    let code = try Cryptography.hmac(names, Self.bytes(id), hash: .sha256).prefix(16)
    return code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Returns the key of a file, derived from its value's number and its salt.
  func key(_ id: Int64, salt: [UInt8]) throws -> SecretBytes {
    try Cryptography.derivedKey(from: contents, purpose: "CipherData external file", context: Self.bytes(id) + salt)
  }

  /// Returns a random number for a new value.
  package static func newID() throws -> Int64 {
    let bytes = try Cryptography.randomBytes(8)
    let number = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) } >> 1
    return number == 0 ? try newID() : Int64(number)
  }

  private static func bytes(_ id: Int64) -> [UInt8] { withUnsafeBytes(of: id.littleEndian) { Array($0) } }
}

/// Writes and encrypts the file of a large value, with one chunk in memory at a time. The file is removed unless ``finish()`` is called.
package final class ExternalFileWriter {
  package let id: Int64
  package private(set) var count = 0
  private let path: String
  private let cipher: ChunkCipher
  private let digest: IncrementalDigest
  private var descriptor: Int32
  private var isFinished = false
  private var index = 0
  private var filled = 0
  private let plain = UnsafeMutableRawBufferPointer.allocate(byteCount: ExternalFileFormat.chunkSize, alignment: 16)
  private let sealed = UnsafeMutableRawBufferPointer.allocate(
    byteCount: ExternalFileFormat.chunkSize + Cryptography.tagSize, alignment: 16)

  /// - Parameter owner: The owner of the file, as far as this process can set it.
  init(path: String, id: Int64, keys: ExternalKeys, owner: FileOwner? = nil) throws {
    self.path = path
    self.id = id
    let salt = try Cryptography.randomBytes(ExternalFileFormat.saltSize)
    let header = ExternalFileFormat.header(salt: salt)
    cipher = try ChunkCipher(key: keys.key(id, salt: salt), header: header)
    digest = try IncrementalDigest()
    descriptor = try StoreFile.openExclusively(path)
    try owner?.transfer(descriptor, path: path, replacing: false)
    try header.withUnsafeBytes { bytes in try put(bytes) }
  }

  deinit {
    Cryptography.wipe(plain)
    plain.deallocate()
    sealed.deallocate()
    if descriptor >= 0 { _ = Foundation.close(descriptor) }
    if !isFinished { unlink(path) }
  }

  private static let operation: StoreAccessError.Operation = .writeLargeValue

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    try digest.append(bytes)
    count += bytes.count
    try fill(bytes)
  }

  /// Pads the file, makes it durable, and returns the SHA-256 digest of the bytes. The folder's entry is not durable yet.
  package func finish() throws -> [UInt8] {
    var left = ExternalFileFormat.paddedSize(count) - ExternalFileFormat.trailerSize - count
    let zeros = [UInt8](repeating: 0, count: min(left, 4096))
    while left > 0 {
      let size = min(left, zeros.count)
      try zeros.withUnsafeBytes { bytes in try fill(UnsafeRawBufferPointer(rebasing: bytes[..<size])) }
      left -= size
    }
    try withUnsafeBytes(of: UInt64(count).littleEndian) { bytes in try fill(bytes) }
    try sealChunk(isLast: true)
    guard fsync(descriptor) == 0 else { throw StoreAccessError.system(errno, path: path, operation: Self.operation) }
    _ = Foundation.close(descriptor)
    descriptor = -1
    let result = try digest.finish()
    isFinished = true
    return result
  }

  private func fill(_ bytes: UnsafeRawBufferPointer) throws {
    var position = 0
    while position < bytes.count {
      // A full chunk is sealed when more bytes follow, since the last one is sealed differently.
      if filled == plain.count { try sealChunk(isLast: false) }
      let size = min(bytes.count - position, plain.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: plain[filled..<filled + size])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + size]))
      filled += size
      position += size
    }
  }

  private func sealChunk(isLast: Bool) throws {
    let output = UnsafeMutableRawBufferPointer(rebasing: sealed[..<(filled + Cryptography.tagSize)])
    try cipher.seal(UnsafeRawBufferPointer(rebasing: plain[..<filled]), index, isLast: isLast, into: output)
    try put(UnsafeRawBufferPointer(output))
    index += 1
    filled = 0
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    var position = 0
    while position < bytes.count {
      let size = Foundation.write(descriptor, bytes.baseAddress?.advanced(by: position), bytes.count - position)
      if size < 0 && errno == EINTR { continue }
      guard size > 0 else { throw StoreAccessError.system(size < 0 ? errno : ENOSPC, path: path, operation: Self.operation) }
      position += size
    }
  }
}

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

  /// Skips bytes, before the first call of ``next()``.
  ///
  /// - Parameter size: A multiple of the size of a chunk, 64 KiB.
  package func skip(_ size: Int) {
    index = size / ExternalFileFormat.chunkSize
    position = index * ExternalFileFormat.chunkSize
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
