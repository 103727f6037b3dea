public import Foundation

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
