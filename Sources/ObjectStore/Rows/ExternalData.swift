public import Foundation
import Synchronization

/// A large binary value that is read on demand, all at once or as a stream.
///
/// ```swift
/// try book.setValue(ExternalData(contentsOf: url), forKey: "cover")
/// try context.save()
/// if let cover = try book.externalData(forKey: "cover") {
///   for try await piece in cover.chunks { print(piece.count) }
/// }
/// ```
///
/// Objects return such a value for a binary attribute (``ManagedObject/externalData(forKey:)``) and accept one. The value can come from
/// bytes in memory, from a file that is read when the object is saved, or from an ``ExternalDataWriter``. No bytes are read before they are
/// requested. Values are `Sendable`: a stream can be read outside the object's context.
///
/// A value from a store refers to the current content of the attribute. If the content has been replaced since, reading returns the new
/// bytes; if it has been deleted, reading throws ``StoreError`` with the code `externalDataMissing`. A reader that was created earlier
/// continues to read the old bytes.
public struct ExternalData: Sendable {
  /// The size in bytes of the chunks in which a value is read: 64 KiB.
  package static let chunkSize = 65_536

  /// A reference to the content, which is replaced after a store has taken over the bytes.
  final class Source: Sendable {
    let content: Mutex<any ExternalContent>
    init(_ content: any ExternalContent) { self.content = Mutex(content) }
  }
  let source: Source

  /// Creates a value with custom content. For stores.
  public init(content: any ExternalContent) { source = Source(content) }

  /// Creates a value from bytes in memory.
  public init(_ data: Data) { self.init(content: ExternalBytes(data)) }

  /// Creates a value from the bytes of a file.
  ///
  /// The file is read when the object is saved, or when the value is read, and is never loaded into memory as a whole. Do not change the
  /// file before the save.
  ///
  /// - Throws: ``StoreError`` with the code `storeNotFound`, `permissionDenied`, or `io` if the file cannot be read; `invalidRequest` if
  ///   the URL is not a file URL or names a folder.
  public init(contentsOf url: URL) throws {
    self.init(content: try ExternalFile(url))
  }

  /// The content of the value. For stores.
  public var content: any ExternalContent { source.content.withLock { $0 } }

  /// The number of bytes. For a value from a store, the store is queried.
  ///
  /// - Throws: ``StoreError`` if the store cannot be queried.
  public var count: Int { get throws { try content.count } }

  /// Returns all bytes.
  ///
  /// - Throws: ``StoreError``: `externalDataMissing` if the bytes were deleted, `storeCorrupt` if they are damaged.
  public func data() throws -> Data { try content.data() }

  /// Returns a reader that reads the value synchronously, in chunks, from the beginning.
  ///
  /// - Throws: ``StoreError`` if the value was deleted or its store is closed.
  public func makeReader() throws -> ExternalDataReader { try content.makeReader() }

  /// The bytes as an asynchronous sequence of chunks, each of which is read on demand.
  public var chunks: ExternalDataChunks { ExternalDataChunks(value: self) }

  /// Replaces the content after a store has taken over the bytes. Later reads come from the store.
  package func replaceContent(_ content: any ExternalContent) { source.content.withLock { $0 = content } }

  /// Returns whether two values refer to the same content. Does not compare bytes.
  package func isIdentical(to other: ExternalData) -> Bool { source === other.source || content.isSame(as: other.content) }
}

/// The source of the bytes of an ``ExternalData``. Implemented by stores that keep large values outside their rows.
public protocol ExternalContent: Sendable {
  /// The number of bytes.
  ///
  /// - Throws: ``StoreError`` if the value was deleted.
  var count: Int { get throws }
  /// Returns a reader that starts at the beginning.
  ///
  /// - Throws: ``StoreError`` if the value was deleted.
  func makeReader() throws -> ExternalDataReader
  /// Returns all bytes. The default implementation reads them in chunks.
  ///
  /// - Throws: ``StoreError`` if the value was deleted or is damaged.
  func data() throws -> Data
  /// Returns whether another content is the same value of the same store. The default implementation returns false.
  func isSame(as other: any ExternalContent) -> Bool
}

extension ExternalContent {
  /// Reads all chunks and concatenates them.
  ///
  /// - Throws: Rethrows the error of the reader.
  public func data() throws -> Data {
    let reader = try makeReader()
    var result = Data()
    while let chunk = try reader.next() { result.append(chunk) }
    return result
  }

  /// Returns false.
  public func isSame(as other: any ExternalContent) -> Bool { false }
}

/// Reads an ``ExternalData`` in chunks. Use a reader from one task at a time.
public final class ExternalDataReader {
  private let read: () throws -> Data?
  private var isAtEnd = false

  /// Creates a reader from a function that returns the next chunk, or nil at the end.
  public init(_ read: @escaping () throws -> Data?) { self.read = read }

  /// Returns the next chunk, or nil at the end. Chunks rarely exceed 64 KiB.
  ///
  /// - Throws: ``StoreError``. Chunks returned before a damaged one are authentic, but the value may be incomplete.
  public func next() throws -> Data? {
    if isAtEnd { return nil }
    while let chunk = try read() {
      if !chunk.isEmpty { return chunk }
    }
    isAtEnd = true
    return nil
  }
}

/// The bytes of an ``ExternalData`` as an asynchronous sequence of chunks.
public struct ExternalDataChunks: AsyncSequence, Sendable {
  let value: ExternalData

  /// Returns an iterator that starts at the beginning.
  public func makeAsyncIterator() -> Iterator { Iterator(value: value) }

  /// Reads one chunk at a time.
  public struct Iterator: AsyncIteratorProtocol {
    let value: ExternalData
    var reader: ExternalDataReader?

    /// Returns the next chunk, or nil at the end.
    ///
    /// - Throws: `CancellationError` if the task was canceled; ``StoreError`` if the bytes were deleted or are damaged.
    public mutating func next() async throws -> Data? {
      try Task.checkCancellation()
      if reader == nil { reader = try value.makeReader() }
      let chunk = try reader?.next()
      await Task.yield()
      return chunk
    }
  }
}

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

/// Writes a large value in chunks, for values that come from a stream.
///
/// A store with external files encrypts the chunks and writes them to a file as they arrive; other stores keep them in memory. The value
/// becomes part of the store when an object that uses it is saved. If no object is saved with it, it is removed.
///
/// ```swift
/// let writer = try film.makeExternalDataWriter()
/// for try await piece in download { try writer.write(piece) }
/// try film.setExternalData(writer.finish(), forKey: "content")
/// ```
public final class ExternalDataWriter {
  private let sink: any ExternalDataSink
  private var isFinished = false

  /// Creates a writer for the sink of a store.
  public init(_ sink: any ExternalDataSink) { self.sink = sink }

  /// Creates a writer that keeps the value in memory.
  public convenience init() { self.init(MemorySink()) }

  /// Appends bytes.
  ///
  /// - Throws: ``StoreError``, for example if the disk is full. The writer cannot be used after an error.
  public func write(_ bytes: Data) throws {
    guard !isFinished else { throw StoreError(.writerFinished, operation: .writeLargeValue) }
    try sink.write(bytes)
  }

  /// Completes the value and returns it.
  ///
  /// - Throws: ``StoreError``, for example if the disk is full. Nothing of the value is kept then.
  public func finish() throws -> ExternalData {
    guard !isFinished else { throw StoreError(.writerFinished, operation: .writeLargeValue) }
    isFinished = true
    return ExternalData(content: try sink.finish())
  }
}

/// The destination of an ``ExternalDataWriter``. Implemented by stores. A sink that is deallocated before ``finish()`` discards its bytes.
public protocol ExternalDataSink: AnyObject {
  /// Appends bytes.
  ///
  /// - Throws: ``StoreError``, for example if the disk is full.
  func write(_ bytes: Data) throws
  /// Completes the value and returns it.
  ///
  /// - Throws: ``StoreError``, for example if the disk is full.
  func finish() throws -> any ExternalContent
}

private final class MemorySink: ExternalDataSink {
  private var data = Data()
  func write(_ bytes: Data) { data.append(bytes) }
  func finish() -> any ExternalContent { ExternalBytes(data) }
}
