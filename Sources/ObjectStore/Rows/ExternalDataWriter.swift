// ExternalDataWriter: collects a large value that comes in pieces, where the store can keep it.
public import Foundation

/// Collects the bytes of a large value piece by piece, for a value that comes from a stream.
///
/// A store with external files writes the pieces into one, encrypted, as they come; other stores keep them in memory. The value becomes part of the store when
/// an object that has it is saved, and is removed when nobody saves one.
///
/// ```swift
/// let writer = try film.makeExternalDataWriter()
/// for try await piece in download { try writer.write(piece) }
/// try film.setExternalData(writer.finish(), forKey: "content")
/// ```
public final class ExternalDataWriter {
  private let sink: any ExternalDataSink
  private var isFinished = false

  /// A writer over a store's sink.
  public init(_ sink: any ExternalDataSink) { self.sink = sink }

  /// A writer that keeps everything in memory.
  public convenience init() { self.init(MemorySink()) }

  /// Appends bytes.
  ///
  /// - Throws: ``StoreError``, for example when the disk is full; the writer is of no use afterwards.
  public func write(_ bytes: Data) throws {
    guard !isFinished else { throw StoreError(.misuse(.writerFinished), operation: .writeLargeValue) }
    try sink.write(bytes)
  }

  /// Ends the value.
  ///
  /// - Throws: ``StoreError``, for example when the disk is full; nothing is left then.
  public func finish() throws -> ExternalData {
    guard !isFinished else { throw StoreError(.misuse(.writerFinished), operation: .writeLargeValue) }
    isFinished = true
    return ExternalData(content: try sink.finish())
  }
}

/// What an ``ExternalDataWriter`` writes into; stores implement it. A sink that goes away unfinished takes its bytes along.
public protocol ExternalDataSink: AnyObject {
  /// Appends bytes.
  ///
  /// - Throws: ``StoreError``, for example when the disk is full.
  func write(_ bytes: Data) throws
  /// Ends the value and gives it.
  ///
  /// - Throws: ``StoreError``, for example when the disk is full.
  func finish() throws -> any ExternalContent
}

private final class MemorySink: ExternalDataSink {
  private var data = Data()
  func write(_ bytes: Data) { data.append(bytes) }
  func finish() -> any ExternalContent { ExternalBytes(data) }
}
