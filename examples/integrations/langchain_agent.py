"""A LangChain agent whose model gets releases only, whole and streamed. Needs `pip install 'wordveil[langchain]'`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from wordveil.integrations.langchain import WordveilMiddleware

PROMPT = "You are a helpful assistant."
NOTE = "Write to maria.lindqvist@clinic.se about case B-4711; she lives in Uppsala."


class Echo(BaseChatModel):
    """Stands for a vendor's model: it keeps all it gets, and says the last message back in small pieces."""

    heard: list[list[BaseMessage]] = []  # noqa: RUF012  # pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.heard.append(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"You said: {messages[-1].content}"))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        self.heard.append(messages)
        said = f"You said: {messages[-1].content}"
        for start in range(0, len(said), 3):
            yield ChatGenerationChunk(message=AIMessageChunk(said[start : start + 3]))


def main() -> None:
    """Ask twice and compare what the model heard with what the caller got."""
    model = Echo()
    agent = create_agent(model, system_prompt=PROMPT, middleware=[WordveilMiddleware(public=[PROMPT])])
    first = agent.invoke({"messages": [{"role": "user", "content": NOTE}]})
    print("model: ", model.heard[-1][-1].content)
    print("agent: ", first["messages"][-1].content)
    history = [*first["messages"], {"role": "user", "content": "And to anna@clinic.se, too."}]
    run = agent.stream_events({"messages": history}, version="v3")
    streamed = ["".join(message.text) for message in run.messages]
    print("model: ", [message.content for message in model.heard[-1]])
    print("stream:", streamed)
    assert model.heard[0][0].content == PROMPT
    assert "maria.lindqvist@clinic.se" in first["messages"][-1].content
    assert "anna@clinic.se" in streamed[0]
    sent = " ".join(str(message.content) for messages in model.heard for message in messages)
    assert all(private not in sent for private in ("lindqvist", "B-4711", "anna@clinic.se"))


if __name__ == "__main__":
    main()
