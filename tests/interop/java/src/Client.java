import interop.Defaults;
import interop.Either;
import interop.Everything;
import interop.Interop;
import interop.Point;
import java.io.FileInputStream;
import java.io.InputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.layered.TFramedTransport;
import shared.Colour;
import shared.Refused;

/** Calls a server of interop.thrift with Apache Thrift's Java library: PORT binary|compact [CA_FILE]. */
public final class Client {
  private Client() {}

  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[0]);
    Socket socket =
        arguments.length > 2 ? secured(arguments[2], port) : new Socket("localhost", port);
    try (TFramedTransport framed = new TFramedTransport(new TSocket(socket))) {
      TProtocol wire =
          arguments[1].equals("compact") ? new TCompactProtocol(framed) : new TBinaryProtocol(framed);
      for (TProtocol out : List.of(wire, new TMultiplexedProtocol(wire, "Interop"))) {
        Interop.Client client = new Interop.Client(wire, out);
        echo(client);
        arithmetic(client);
        failures(client);
        defaults(client);
        note(client);
      }
    }
    System.out.println("ok");
  }

  private static Socket secured(String ca, int port) throws Exception {
    KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
    roots.load(null, null);
    try (InputStream file = new FileInputStream(ca)) {
      var certificates = CertificateFactory.getInstance("X.509");
      roots.setCertificateEntry("ca", certificates.generateCertificate(file));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(roots);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(null, trust.getTrustManagers(), null);
    SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    parameters.setProtocols(new String[] {"TLSv1.3"});
    socket.setSSLParameters(parameters);
    return socket;
  }

  private static Everything everything(int size) {
    Everything value = new Everything();
    value.setYes(true).setNo(false).setTiny(Byte.MIN_VALUE).setSmall(Short.MAX_VALUE);
    value.setMedium(Integer.MIN_VALUE).setLarge(Long.MAX_VALUE).setReal(-1e300);
    value.setText("grüße \"\\\n\0" + "x".repeat(size));
    value.setBlob(ByteBuffer.wrap(new byte[] {0, 1, -128, -1}));
    value.setColour(Colour.BLUE);
    List<Long> numbers = new ArrayList<>(List.of(0L, -1L, Long.MIN_VALUE, Long.MAX_VALUE));
    for (long number = 0; number < size / 64; number++) {
      numbers.add(number);
    }
    value.setNumbers(numbers).setNames(Set.of("", "one")).setShares(Map.of("", 0.1, "b", 2.0));
    value.setIndex(Map.of(-1, List.of("minus"), 1 << 30, List.of()));
    value.setPath(List.of(new Point(1, 2), new Point(3, 4).setLabel("ß")));
    value.setEither(Either.path(List.of(new Point(5, 0))));
    return value.setFlags(List.of(true, false, true));
  }

  private static void echo(Interop.Client client) throws Exception {
    for (int size : new int[] {0, 1 << 10, 1 << 16, 1 << 20}) {
      Everything value = everything(size);
      expect(value, client.echo(value));
    }
  }

  private static void arithmetic(Interop.Client client) throws Exception {
    long sum = 0;
    for (int turn = 1; turn <= 100; turn++) {
      long found = client.add(sum, turn);
      expect(sum + turn, found);
      sum = found;
    }
    try {
      expect("an exception", client.add(Long.MAX_VALUE, 1));
    } catch (Refused refused) {
      expect(new Refused(7, "overflow"), refused);
    }
  }

  private static void failures(Interop.Client client) throws Exception {
    try {
      client.fail("on purpose");
      expect("an exception", "none");
    } catch (TApplicationException failed) {
      expect(TApplicationException.INTERNAL_ERROR, failed.getType());
      expect(true, failed.getMessage().contains("on purpose"));
    }
    try {
      expect("an exception", client.missing());
    } catch (TApplicationException failed) {
      expect(TApplicationException.UNKNOWN_METHOD, failed.getType());
    }
  }

  private static void defaults(Interop.Client client) throws Exception {
    Defaults standard = new Defaults();
    // What the constructor sets is there without being marked as set.
    Defaults marked = new Defaults(standard).setCount(12).setSure(true);
    marked.setOrigin(new Point(0.5, -1));
    expect(marked, client.standard());
    String expected =
        "{\"colour\":7,\"count\":5,\"numbers\":[1,2],\"origin\":{\"x\":0.5,\"y\":-1.0},"
            + "\"sure\":true,\"text\":\"as \\\"usual\\\"\"}";
    expect(expected, client.describe(new Defaults().setCount(5).setSure(true)));
  }

  private static void note(Interop.Client client) throws Exception {
    long number = ProcessHandle.current().pid();
    client.note(number);
    expect(true, client.noted(number));
  }

  private static void expect(Object expected, Object found) {
    if (!expected.equals(found)) {
      throw new AssertionError("expected " + expected + ", found " + found);
    }
  }
}
