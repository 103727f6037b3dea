// ExternalData: a large value whose bytes are not in its row: read when they are asked for, whole or piece by piece.
public import Foundation
import Synchronization

/// A large binary value that is read when it is asked for, whole or as a stream.
///
/// ```swift
/// try book.setValue(ExternalData(contentsOf: url), forKey: "cover")
/// try context.save()
/// if let cover = try book.externalData(forKey: "cover") {
///   for try await piece in cover.chunks { print(piece.count) }
/// }
/// ```
///
/// It is what an object gives for a binary attribute (``ManagedObject/externalData(forKey:)``), and what it takes: bytes, a file that is read when the
/// object is saved, or what an ``ExternalDataWriter`` collected. None of its bytes is read before somebody asks. Values are safe to send: a stream can be read
/// far from the object's context.
///
/// A value of a store stands for what the attribute has there. Where somebody has replaced the bytes since, reading gives the new ones; where somebody has
/// deleted them, it throws ``StoreError`` with the code `externalDataMissing`. A reader that was made before goes on reading the old bytes.
public struct ExternalData: Sendable {
  /// The size of the pieces in which a value is read, in bytes: 64 KiB.
  package static let chunkSize = 65_536

  /// What is behind the value: it is exchanged when a store has taken the bytes over.
  final class Source: Sendable {
    let content: Mutex<any ExternalContent>
    init(_ content: any ExternalContent) { self.content = Mutex(content) }
  }
  let source: Source

  /// A value with bytes of your own kind; for stores.
  public init(content: any ExternalContent) { source = Source(content) }

  /// Bytes that are in memory.
  public init(_ data: Data) { self.init(content: ExternalBytes(data)) }

  /// The bytes of a file, which are read when the object is saved (or when somebody asks for them): nothing holds all of them in memory. Keep the file as it
  /// is until the save.
  ///
  /// - Throws: ``StoreError`` with the code `storeNotFound`, `permissionDenied` or `io` when there is no file that can be read.
  public init(contentsOf url: URL) throws {
    self.init(content: try ExternalFile(url))
  }

  /// What is behind the value, for stores.
  public var content: any ExternalContent { source.content.withLock { $0 } }

  /// The number of bytes. A value of a store looks it up there.
  ///
  /// - Throws: ``StoreError`` where the store cannot be asked.
  public var count: Int { get throws { try content.count } }

  /// All bytes at once.
  ///
  /// - Throws: ``StoreError``; `externalDataMissing` when the bytes are gone, `storeCorrupt` when they are damaged.
  public func data() throws -> Data { try content.data() }

  /// Reads from the beginning, piece by piece, synchronously.
  ///
  /// - Throws: ``StoreError`` where the value is gone or its store is closed.
  public func makeReader() throws -> ExternalDataReader { try content.makeReader() }

  /// The bytes piece by piece, as an asynchronous sequence: the pieces are read one at a time, when they are asked for.
  public var chunks: ExternalDataChunks { ExternalDataChunks(value: self) }

  /// The bytes were taken over: from now on they are read from the store.
  package func replaceContent(_ content: any ExternalContent) { source.content.withLock { $0 = content } }

  /// Whether two values are one: not whether their bytes are equal.
  package func isIdentical(to other: ExternalData) -> Bool { source === other.source || content.isSame(as: other.content) }
}

/// Where the bytes of an ``ExternalData`` come from. Stores that keep large values outside their rows implement it.
public protocol ExternalContent: Sendable {
  /// The number of bytes.
  ///
  /// - Throws: ``StoreError`` where the value is gone.
  var count: Int { get throws }
  /// Reads from the beginning.
  ///
  /// - Throws: ``StoreError`` where the value is gone.
  func makeReader() throws -> ExternalDataReader
  /// All bytes. The default reads them piece by piece.
  ///
  /// - Throws: ``StoreError`` where the value is gone or damaged.
  func data() throws -> Data
  /// Whether another content is the same value of the same store. By default it is not.
  func isSame(as other: any ExternalContent) -> Bool
}

extension ExternalContent {
  /// Reads all pieces.
  ///
  /// - Throws: What the reader throws.
  public func data() throws -> Data {
    let reader = try makeReader()
    var result = Data()
    while let piece = try reader.next() { result.append(piece) }
    return result
  }

  /// False.
  public func isSame(as other: any ExternalContent) -> Bool { false }
}

/// Reads an ``ExternalData`` piece by piece. Use it from one task at a time.
public final class ExternalDataReader {
  private let read: () throws -> Data?
  private var isAtEnd = false

  /// A reader over a function that gives the pieces, and nil at the end.
  public init(_ read: @escaping () throws -> Data?) { self.read = read }

  /// The next bytes, seldom more than 64 KB; nil at the end.
  ///
  /// - Throws: ``StoreError``; what was given before a damaged piece is authentic all the same, but may not be the whole.
  public func next() throws -> Data? {
    if isAtEnd { return nil }
    while let piece = try read() {
      if !piece.isEmpty { return piece }
    }
    isAtEnd = true
    return nil
  }
}

/// The bytes of an ``ExternalData``, piece by piece.
public struct ExternalDataChunks: AsyncSequence, Sendable {
  let value: ExternalData

  /// Starts at the beginning.
  public func makeAsyncIterator() -> Iterator { Iterator(value: value) }

  /// Reads one piece at a time.
  public struct Iterator: AsyncIteratorProtocol {
    let value: ExternalData
    var reader: ExternalDataReader?

    /// The next piece; nil at the end. Throws `CancellationError` when the task was cancelled.
    ///
    /// - Throws: `CancellationError` when the task was cancelled; ``StoreError`` where the bytes are gone or damaged.
    public mutating func next() async throws -> Data? {
      try Task.checkCancellation()
      if reader == nil { reader = try value.makeReader() }
      let piece = try reader?.next()
      await Task.yield()
      return piece
    }
  }
}
