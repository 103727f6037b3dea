import CLibcrypto
import StoreKeys
import SyncCore

/// Computes HMAC-SHA-256 codes with one key. The key is processed once.
final class HMAC {
  private let context: OpaquePointer

  init(key: SecretBytes) throws {
    guard let algorithm = EVP_MAC_fetch(nil, "HMAC", nil) else { throw Self.failure }
    defer { EVP_MAC_free(algorithm) }
    guard let context = EVP_MAC_CTX_new(algorithm) else { throw Self.failure }
    self.context = context
    let isReady = key.withUnsafeBytes { key in
      withParameters([.text("digest", "SHA256")]) {
        EVP_MAC_init(context, key.baseAddress?.assumingMemoryBound(to: UInt8.self), key.count, $0) == 1
      }
    }
    guard isReady else { throw Self.failure }
  }

  deinit { EVP_MAC_CTX_free(context) }

  func code(of bytes: UnsafeRawBufferPointer) throws -> Digest {
    // Without a key libcrypto begins again with the last one.
    guard EVP_MAC_init(context, nil, 0, nil) == 1,
      EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count) == 1
    else { throw Self.failure }
    return try Digest.filled { EVP_MAC_final(context, $0, nil, 32) == 1 } ?? { throw Self.failure }()
  }

  private static var failure: SyncCryptoError { .failed("HMAC") }
}

/// A parameter of an algorithm of libcrypto.
enum AlgorithmParameter {
  case text(StaticString, StaticString)
  case bytes(StaticString, UnsafeRawBufferPointer)
}

/// Calls a closure with a list of parameters in libcrypto's form, which is valid only during the call.
func withParameters<Result>(_ parameters: [AlgorithmParameter], _ body: (UnsafePointer<OSSL_PARAM>) -> Result) -> Result {
  var list = parameters.map { parameter in
    switch parameter {
    case .text(let name, let value):
      item(name, UInt32(OSSL_PARAM_UTF8_STRING), UnsafeRawPointer(value.utf8Start), value.utf8CodeUnitCount)
    case .bytes(let name, let value): item(name, UInt32(OSSL_PARAM_OCTET_STRING), value.baseAddress, value.count)
    }
  }
  list.append(OSSL_PARAM_construct_end())
  return body(list)
}

private func item(_ name: StaticString, _ type: UInt32, _ value: UnsafeRawPointer?, _ count: Int) -> OSSL_PARAM {
  name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) {
    // libcrypto does not write to the parameters of a request.
    OSSL_PARAM(key: $0, data_type: type, data: UnsafeMutableRawPointer(mutating: value), data_size: count, return_size: .max)
  }
}
